"""The Python call: `engine.chain(picture, "sobel-magnitude")`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.api.arguments import Image, as_device
from engine.api.calls import array_text, plan_for
from engine.api.host_copy import host_copy
from engine.api.request import Call
from engine.errors import BadValue
from engine.geometry.layout import Layout
from engine.image.convert import to_depth
from engine.results.text_forms import Shown
from engine.work.chain_files import chain_from, chain_named
from engine.work.request import of_chain
from engine.work.step_times import timed_steps, with_steps
from engine.work.steps import Chain

if TYPE_CHECKING:
    from engine.results.measurement import Measurement, StepTime
    from engine.work.picture_problem import ChainProblem

ChainLike = Chain | str | os.PathLike[str] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, repr=False)
class Chained(Shown):
    """What a chain makes of a picture, with its verification and its times.

    Parameters
    ----------
    values : array of the picture's shape and kind, float32
        The last step's result as it is; of another operation alone in the picture's type, as it writes it.
    picture : array of the picture's shape, type and kind
        The same in the picture's type; values outside its range are treated as the chain says.
    steps : tuple of StepTime
        Each step with its variant and its time by itself, ms; no times in the simulator.
    result : Measurement
        The chain as a whole: device, timing, verification.
    """

    values: Any
    picture: Any
    steps: "tuple[StepTime, ...]"
    result: "Measurement[ChainProblem]"

    def _shown(self) -> list[tuple[str, str]]:
        times = ((step.id, "" if step.ms is None else f"{step.ms:.3g} ms") for step in self.steps)
        return [("Values", array_text(self.values)), *times, *self.result.summary.items()]


def chain(
    image: Image,
    steps: ChainLike,
    *,
    device: str | None = None,
    layout: str | Layout = Layout.PITCHED,
    budget_s: float = 0.1,
) -> Chained:
    """Do the steps of a chain one after the other, verify the result and time it.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), or Picture
        As for `correlate`; the alpha of a `Picture` is left out. An array in a GPU's memory is copied to the
        host once, and results are copied back to arrays of its kind.
    steps : Chain, str, path, or list of dict
        A ready chain ("sobel-magnitude"; `python main.py chains` lists them), a file, or the steps as a file
        has them: [{"id": "blur", "mask": "gaussian:9:1.5"}, {"operation": "median"}]. docs/chains.md has all.
    device, layout
        As for `correlate`; all steps run on one device.
    budget_s : float
        Time to spend on samples, seconds.

    Raises
    ------
    VerificationFailed
        The result is further from the float64 oracle of the whole chain than rounding explains.
    EngineError
        Anything else; says what, in which step, why and what helps.

    Examples
    --------
    >>> import engine, numpy
    >>> step = numpy.zeros((5, 6), numpy.uint8)
    >>> step[:, 3:] = 10
    >>> engine.chain(step, "sobel-magnitude", device="cpu").values[2].tolist()
    [0.0, 0.0, 40.0, 40.0, 0.0, 0.0]
    """
    given = host_copy(image, device)
    asked = of_chain(as_chain(steps), device=as_device(given.device), layout=Layout.named(layout))
    call = Call(given.array, asked)
    applied = call.measure(plan_for(budget_s))
    values = applied.values.reshape(call.shape)
    picture = values
    if values.dtype != call.samples.dtype:
        picture = to_depth(values, call.samples.dtype, range_mode=call.asked.chain.range)
    result = with_steps(applied.result, call.job())
    return Chained(given.back(values), given.back(picture), timed_steps(call, result), result)


def as_chain(steps: ChainLike) -> Chain:
    """Return a chain in any of its forms; an `EngineError` for what is none."""
    if isinstance(steps, Chain):
        return steps
    if isinstance(steps, str | os.PathLike):
        return chain_named(os.fspath(steps))
    if isinstance(steps, Sequence) and all(isinstance(step, Mapping) for step in steps):
        return chain_from({"steps": list(map(dict, steps))})  # type: ignore[arg-type]
    why = f"a {type(steps).__name__} is no chain"
    raise BadValue("the steps", why, 'Pass a name, a file, or a list such as [{"mask": "sobel-x"}].')
