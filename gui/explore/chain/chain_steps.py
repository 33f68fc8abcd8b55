"""Steps are added, removed, moved: each returns another state, in which every step reads what is before it.

No Qt in here.
"""

from dataclasses import replace

from engine.mask.mask import Mask
from gui.explore.state import COMBINE, FIRST_ID, PICTURE, SHARED, Settings, State, Step

MOST_STEPS = 64


def added(state: State, step: Step) -> State:
    """Return the state with a step after the selected one, whose result it reads; it is selected."""
    shared = {name: getattr(state.step.settings, name) for name in SHARED}
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
    steps = list(state.steps)
    at = state.selected + by
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


def new_step(step: Step, operation: str) -> Step:
    """Return a step that does an operation as it is at first; a mask begins as a copy of another step's."""
    return Step(step.mask, step.title, settings=Settings(border=step.settings.border)).with_operation(
        operation
    )


def _free_id(state: State) -> str:
    taken = {step.id for step in state.steps}
    return next(name for at in range(1, len(taken) + 2) if (name := f"s{at}") not in taken)
