"""The engine's chain from the steps of the page, and back; the job that it is for a picture. No Qt."""

from dataclasses import replace
from typing import Any

from msgspec import structs

from engine.device_info import AUTO
from engine.geometry.range_modes import RangeMode
from engine.host.protocol import PictureHandle
from engine.mask.mask import Mask
from engine.work.messages import PictureJob
from engine.work.operations.problem import Settings as Parameters
from engine.work.steps import (
    AnyStep,
    Chain,
    CombineStep,
    MaskStep,
    OperationStep,
)
from gui.explore.mask.preset_names import preset_of, title_of
from gui.explore.picture_job import ON_CPU, job_of
from gui.explore.state import COMBINE, KERNEL, MASK_USE, PICTURE, SHARED, Settings, State, Step, values_of

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
        how, weight = (
            settings.parameters.get(name, value) for name, value in (("how", "add"), ("weight", 0.5))
        )
        return CombineStep(**common, how=how, second=step.second, weight=weight)
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
