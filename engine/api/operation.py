"""The Python call: `engine.operate(picture, "median", size=5)`."""

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.api.arguments import BlockLike, Image, as_block, as_device
from engine.api.calls import array_text, plan_for
from engine.api.host_copy import host_copy
from engine.api.request import Call
from engine.device_info import AUTO
from engine.geometry.layout import Layout
from engine.results.problem import Mark
from engine.results.text_forms import Shown
from engine.work.operations.problem import Settings
from engine.work.request import one_step
from engine.work.steps import OperationStep

if TYPE_CHECKING:
    from engine.results.measurement import Measurement
    from engine.work.operations.problem import OperationProblem


@dataclass(frozen=True, slots=True, repr=False)
class Operated(Shown):
    """What an operation found, with its verification and its times.

    Parameters
    ----------
    values : array of the picture's kind
        What the variant wrote: the picture; the counts (channels, bins, 1) of a histogram; the scores of a
        patch at each position; quantised coefficients above the samples they are transformed back to.
    picture : array of the picture's shape, type and kind, optional
        The result as a picture; None for a histogram. Of `find-patch` the picture as it was.
    numbers : dict of str to float
        Such as psnr_db and estimated_bytes; empty for most.
    counts : ndarray of shape (channels, bins), optional
        Counts of a histogram.
    mark : Mark, optional
        The best match of a patch: row, column, height, width.
    result : Measurement
        Variant, block, device, timing, verification.
    """

    values: Any
    picture: Any
    numbers: dict[str, float]
    counts: np.ndarray | None
    mark: Mark | None
    result: "Measurement[OperationProblem]"

    def _shown(self) -> list[tuple[str, str]]:
        lines = [("Values", array_text(self.values))]
        lines += [(name, f"{value:.6g}") for name, value in self.numbers.items()]
        if self.mark is not None:
            row, column, height, width = astuple(self.mark)
            lines.append(("Best match", f"row {row}, column {column}, {height} × {width}"))
        return [*lines, *self.result.summary.items()]


def operate(
    image: Image,
    operation: str,
    *,
    patch: Image | None = None,
    variant: str = AUTO,
    block: BlockLike | None = None,
    device: str | None = None,
    layout: str | Layout = Layout.PITCHED,
    budget_s: float = 0.1,
    **parameters: Any,
) -> Operated:
    """Do an operation other than filtering, verify its result and time it.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), or Picture
        As for `correlate`; the alpha of a `Picture` is left out. An array in a GPU's memory is copied to the
        host once, for the oracle, and `values` and `picture` are copied back to arrays of its kind.
    operation : str
        "negative", "threshold", "desaturate", "hue-shift", "histogram", "equalise", "gradient-magnitude",
        "median", "minimum", "maximum", "morphology", "bilateral", "find-patch" or "compress".
    patch : array or Picture, optional
        For "find-patch": the small picture to find. None: what left, top, width and height cut from the
        picture itself.
    variant, block, device, layout
        As for `correlate`; `python main.py variants --json` lists the variants of each operation.
    budget_s : float
        Time to spend on samples, seconds.
    parameters
        Parameters of the operation, by name, such as size=5 for "median".

    Raises
    ------
    VerificationFailed
        The result is not what the oracle says.
    EngineError
        Anything else; says what, why and what helps.

    Examples
    --------
    >>> import engine, numpy
    >>> spots = numpy.zeros((5, 5), numpy.uint8)
    >>> spots[2, 2] = 255
    >>> int(engine.operate(spots, "median", size=3, device="cpu").picture.max())
    0
    """
    given = host_copy(image, device)
    step = OperationStep(
        operation=operation,
        settings=Settings(parameters.items()),
        variant=variant,
        block=as_block(block),
    )
    asked = one_step(step, device=as_device(given.device), layout=Layout.named(layout))
    call = Call(given.array, asked, host_copy(patch).array)
    applied = call.measure(plan_for(budget_s))
    answer = call.answer(applied.values)
    return Operated(
        given.back(applied.values),
        None if answer.picture is None else given.back(answer.picture.reshape(call.shape)),
        {quantity.key: quantity.value for quantity in answer.quantities},
        answer.counts,
        answer.mark,
        applied.result,
    )
