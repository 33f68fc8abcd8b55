"""Steps of the page: added, removed, moved, each time as another state; the engine's chain of them and back.

Every step reads what is before it. No Qt in here.
"""

from dataclasses import replace
from typing import Any

from msgspec import structs

from engine.device_info import AUTO
from engine.geometry.border import RangeMode
from engine.host.protocol import PictureHandle
from engine.mask.mask import Mask
from engine.work.messages import PictureJob
from engine.work.problem import Settings as Parameters
from engine.work.steps import PICTURE, AnyStep, Chain, CombineStep, MaskStep, OperationStep
from gui.explore.mask.preset_names import preset_of, shown_title, title_of
from gui.explore.state import (
    COMBINE,
    FIRST_ID,
    KERNEL,
    MASK_USE,
    ON_CPU,
    SHARED,
    Settings,
    State,
    Step,
    job_of,
    values_of,
)


def added(state: State, step: Step) -> State:
    """Return the state with a step after the selected one, whose result it reads; it is selected."""
    shared = values_of(SHARED, state.step.settings)
    step = replace(step.with_settings(**shared), id=_free_id(state))
    if step.operation == COMBINE:
        step = replace(step, input="", second=PICTURE)
    at = state.selected + 1
    return replace(state, steps=(*state.steps[:at], step, *state.steps[at:]), selected=at)


def duplicated(state: State) -> State:
    """Return the state with a copy of the selected step after it."""
    return added(state, replace(state.step, input=""))


def combining(state: State) -> Step:
    """Return a step that adds the picture to the result of the step before."""
    step = state.step.with_operation(COMBINE).with_settings(parameters={"how": "add"})
    return replace(step, on=True)


def removed(state: State) -> State:
    """Return the state without the selected step: who read it reads what it read. One step stays."""
    at, gone = state.selected, state.step
    if len(state.steps) == 1:
        return state
    reads = reads_of(state, at)[0]
    steps = list(state.steps)
    for later in range(at + 1, len(steps)):
        step = steps[later]
        if step.input == gone.id or (later == at + 1 and not step.input):
            # The one before it is what is read without a name, too.
            before = steps[at - 1].id if at else PICTURE
            step = replace(step, input="" if later == at + 1 and reads == before else reads)
        if step.second == gone.id:
            step = replace(step, second=reads)
        steps[later] = step
    del steps[at]
    found = replace(state, steps=tuple(steps), selected=min(at, len(steps) - 1))
    # A single step is the whole page, and reads the picture.
    only = found.steps[0]
    if len(found.steps) == 1 and only.operation != COMBINE:
        return State((replace(only, id=FIRST_ID, input="", on=True),), 0, found.source)
    return found


def why_not_moved(state: State, by: int) -> str:
    """Return why the selected step cannot move so far; empty if it can."""
    at = state.selected + by
    if not 0 <= at < len(state.steps):
        return "It is the first step." if by < 0 else "It is the last step."
    steps = list(state.steps)
    steps.insert(at, steps.pop(state.selected))
    known = {PICTURE, ""}
    for step in steps:
        for read in (step.input, step.second if step.operation == COMBINE else ""):
            if read not in known:
                numbers = [number_of(state, one) for one in (step.id, read)]
                return f"Step {numbers[0]} reads step {numbers[1]}, so it stays after it."
        known.add(step.id)
    return ""


def moved(state: State, by: int) -> State:
    """Return the state with the selected step so many places further down; as it is where that cannot be."""
    if why_not_moved(state, by):
        return state
    steps, at = list(state.steps), state.selected + by
    steps.insert(at, steps.pop(state.selected))
    return replace(state, steps=tuple(steps), selected=at)


def split(state: State, first: Mask, second: Mask) -> State:
    """Return the state with two masks, one after the other, in the place of the selected step's."""
    plain = {"flip": False, "normalise": False}
    step = state.step
    begin = state.with_step(step.with_mask(first, is_new=True).with_settings(**plain))
    found = added(begin, replace(step.with_mask(second, is_new=True).with_settings(**plain), input=""))
    # Who read the one mask reads the second of the two.
    new = found.step
    later = [
        replace(
            one,
            input=new.id if one.input == step.id else one.input,
            second=new.id if one.second == step.id else one.second,
        )
        for one in found.steps[found.selected + 1 :]
    ]
    return replace(found, steps=(*found.steps[: found.selected + 1], *later))


def with_inputs(state: State, input_: str, second: str) -> State:
    """Return the state in which the selected step reads others; the one before it without its name."""
    before = state.steps[state.selected - 1].id if state.selected else PICTURE
    return state.with_step(replace(state.step, input="" if input_ == before else input_, second=second))


def reads_of(state: State, at: int) -> tuple[str, ...]:
    """Return the ids of what a step reads, or PICTURE."""
    step = state.steps[at]
    first = step.input or (state.steps[at - 1].id if at else PICTURE)
    return (first, step.second) if step.operation == COMBINE else (first,)


def number_of(state: State, id_: str) -> int:
    """Return the place of a step, from 1."""
    return next((at for at, step in enumerate(state.steps, start=1) if step.id == id_), 0)


def title_of_step(step: Step) -> str:
    """Return what a step does, in a few words."""
    parameters = step.settings.parameters
    if step.operation == COMBINE:
        how = parameters.get("how", "add")
        weight = f" {parameters.get('weight', 0.5):g}" if how == "blend" else ""
        return f"{how.capitalize()}{weight}"
    if step.operation:
        given = "".join(f", {name} {value}" for name, value in parameters.items())
        return f"{step.operation.replace('-', ' ').capitalize()}{given}"
    rows, columns = step.mask.shape
    title, size = shown_title(step.mask, step.title), f"{rows} × {columns}"
    return title if size in title else f"{title} {size}"


def reads_words(state: State, at: int) -> str:
    """Return what a step reads: from picture; from step 1 and step 2."""
    names = ["picture" if id_ == PICTURE else f"step {number_of(state, id_)}" for id_ in reads_of(state, at)]
    return f"from {' and '.join(names)}"


def new_step(step: Step, operation: str) -> Step:
    """Return a step that does an operation as it is at first; a mask begins as a copy of another step's."""
    return Step(step.mask, step.title, settings=Settings(border=step.settings.border)).with_operation(
        operation
    )


def _free_id(state: State) -> str:
    taken = {step.id for step in state.steps}
    return next(name for at in range(1, len(taken) + 2) if (name := f"s{at}") not in taken)


_ALONE = Mask([[1.0]])


def chain_of(state: State, range_mode: RangeMode = "clip") -> Chain:
    """Return the steps as a chain; an EngineError says why they form none."""
    return Chain(tuple(map(engine_step, state.steps)), title=state.title, range=range_mode)


def written_chain(state: State, range_mode: RangeMode, *, whole: bool = True) -> Chain:
    """Return the steps for a file, up to the selected one unless `whole`; presets have their keys."""
    shown = state if whole else replace(state, steps=state.steps[: state.selected + 1], selected=0)
    chain = chain_of(shown, range_mode)
    return structs.replace(chain, steps=tuple(map(_written, chain.steps)))


def _written(step: AnyStep) -> AnyStep:
    if not isinstance(step, MaskStep):
        return step
    known = preset_of(step.mask)
    return structs.replace(step, written=known.key) if known else step


def chain_job(
    state: State, picture: PictureHandle, range_mode: RangeMode, *, whole: bool, alone: bool
) -> PictureJob:
    """Return the job of a chain on a picture, up to the selected step unless `whole`.

    With `alone` a result that needs one step only, which reads the picture itself, is the job of that step;
    one that needs none, because all its steps are switched off, is the picture: a mask of one 1.
    """
    chain, step = chain_of(state, range_mode), state.step
    shown = "" if whole or step is state.steps[-1] else step.id
    nodes = chain.nodes(shown)
    if alone and len(nodes) == 1 and nodes[0].step.kind != CombineStep.kind:
        only = next(one for one in state.steps if one.id == nodes[0].step.id)
        return job_of(only.with_settings(result_type="float32"), picture, range_mode)
    if alone and not nodes:
        return job_of(Step(_ALONE).with_settings(result_type="float32"), picture, range_mode)
    # As on the command line: copies to a GPU and back take longer than short chains.
    device = ON_CPU if step.settings.device == AUTO else step.settings.device
    return PictureJob(chain=chain, shown=shown, picture=picture, device=device, layout=step.settings.layout)


def state_of(chain: Chain, before: State) -> State:
    """Return the state with the steps of a chain; what is shared stays, the picture too."""
    shared = values_of(SHARED, before.step.settings) | {"range_mode": chain.range}
    common = Settings(**shared, baseline=before.step.settings.baseline)
    steps = tuple(_page_step(step, common) for step in chain.steps)
    return replace(before, steps=steps, selected=len(steps) - 1, title=chain.title)


def engine_step(step: Step) -> AnyStep:
    """Return a step of the page as the engine has it, its mask as it was typed."""
    settings = step.settings
    common: dict[str, Any] = {"id": step.id, "input": step.input, "on": step.on}
    if step.operation == COMBINE:
        return CombineStep(**common, second=step.second, **{"how": "add", **settings.parameters})
    common |= values_of(KERNEL, settings)
    if step.operation:
        parameters = Parameters(settings.parameters.items())
        return OperationStep(**common, operation=step.operation, settings=parameters)
    use = values_of(MASK_USE, settings) | {"normalise": settings.normalise and step.can_normalise}
    return MaskStep(**common, mask=step.mask, **use)


def _page_step(step: AnyStep, common: Settings) -> Step:
    kernel = values_of(KERNEL, step)
    settings = replace(common, **kernel)
    found = Step(_ALONE, settings=settings, id=step.id, input=step.input, on=step.on)
    if isinstance(step, MaskStep):
        use = values_of(MASK_USE, step)
        return replace(found, mask=step.mask, title=title_of(step.mask)).with_settings(**use)
    if isinstance(step, OperationStep):
        own = kernel | {"parameters": dict(step.settings)}
        return found.with_operation(step.operation).with_settings(**own)
    parameters = {"how": step.how} | ({"weight": step.weight} if step.how == "blend" else {})
    return replace(found.with_operation(COMBINE), second=step.second or PICTURE).with_settings(
        parameters=parameters
    )
