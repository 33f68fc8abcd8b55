"""The Python call: `engine.operate(picture, "median", size=5)`."""

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.api.arguments import BlockLike, Image, as_array, as_block, as_device
from engine.api.calls import Call, array_text, check_block, check_choices, plan_for
from engine.api.host_copy import host_copy
from engine.device_info import AUTO
from engine.geometry.layout import Layout
from engine.results.html_table import html_table
from engine.work.operations.contract import Mark
from engine.work.operations.request import OperationRequest
from engine.work.operations.resolve import ResolvedOperation
from engine.work.pictures import as_samples

if TYPE_CHECKING:
    from engine.results.measurement import Measurement
    from engine.work.operations.problem import OperationProblem


@dataclass(frozen=True, slots=True)
class Operated:
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

    def _repr_html_(self) -> str:
        lines = [("Values", array_text(self.values))]
        lines += [(name, f"{value:.6g}") for name, value in self.numbers.items()]
        if self.mark is not None:
            row, column, height, width = astuple(self.mark)
            lines.append(("Best match", f"row {row}, column {column}, {height} × {width}"))
        return html_table([*lines, *self.result.summary.items()])


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
    call = OperationCall(
        given.array, operation, parameters,
        patch=host_copy(patch).array, key=variant, block=block, device=given.device, layout=layout,
    )  # fmt: skip
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


class OperationCall(ResolvedOperation, Call):
    """One call, resolved; parameters as for `operate`. `shape` is that of the picture as it was given."""

    def __init__(
        self,
        image: Image,
        operation: str,
        parameters: dict[str, Any],
        *,
        patch: Image | None = None,
        key: str = AUTO,
        block: BlockLike | None = None,
        device: str | None = None,
        layout: str | Layout = Layout.PITCHED,
    ) -> None:
        array = as_array(image)
        self.shape = array.shape
        asked = OperationRequest(
            operation=operation,
            settings=parameters,
            variant=key,
            block=as_block(block),
            device=as_device(device),
            layout=Layout.named(layout),
        )
        cells = None if patch is None else as_samples(as_array(patch))
        super().__init__(asked, as_samples(array), cells)
        check_choices(key, asked.device)
        if asked.block is not None:
            check_block(asked.block, self.choice.variant, self.device)
        self.result_shape = self.problem.result_shape
