"""Results of another type than the file's, filtered and converted band by band on the CPU.

A float32 result of 12 megapixels of colour takes four times the memory of the picture: 144 MB for each
worker. In bands a worker holds the picture, the picture to save, and one band of float32 values, which is
used again; what is verified of them is kept. The bits are those of the whole float32 result.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.api.request import Request
from engine.commands.batch_memory import Loan
from engine.commands.mask_filter import MaskFilter
from engine.commands.picture_filter import AFFORDABLE_MULTIPLY_ADDS, AnyFilter
from engine.commands.picture_opening import Opened
from engine.device.launches import Prepared
from engine.geometry.cut import bands as bands_of
from engine.image.colour import full_scale_of
from engine.image.convert import finite_range, to_depth
from engine.image.result_picture import Loss
from engine.verify.checked_samples import CheckedSamples
from engine.work.filtering.agreement import regions_to_check

# Bytes of float32 results: they stay in the caches of a core until they are converted.
BAND_BYTES = 2 << 20


def is_for_bands(how: AnyFilter, call: Any, opened: Opened) -> bool:
    """Return whether a result can be converted band by band: whole numbers in, whole numbers out.

    An alpha that is filtered is converted otherwise than the colours.
    """
    return (
        isinstance(how, MaskFilter)
        and call.device.kind == "cpu"
        and call.choice.variant.band_invariant
        and not call.problem.is_quantised
        and np.dtype(np.float32) not in {call.samples.dtype, opened.dtype}
        and (how.settings.alpha == "keep" or opened.picture.alpha is None)
        and call.is_finite
    )


def filtered_in_bands(
    how: AnyFilter, request: Request, opened: Opened, loan: Loan, seed: int
) -> tuple[NDArray[np.generic], CheckedSamples, Loss]:
    """Return the colours to save, the float32 values that `seed` has checked, and what the colours lose."""
    mode, ends, loss = how.settings.range, None, Loss()
    regions = regions_to_check(request.problem, seed, AFFORDABLE_MULTIPLY_ADDS)
    checked = CheckedSamples(
        request.samples.shape, np.dtype(np.float32), regions if how.settings.verify else ()
    )
    out = loan.result(request.samples, opened.dtype)
    bands = bands_of(request.reach, request.problem.height, request.problem.rows_of(BAND_BYTES))
    highest = max(band.length for band in bands)
    rows = np.broadcast_to(request.samples[:1], (highest, *request.samples.shape[1:]))
    floats = loan.result(rows, np.float32)
    prepared = cache(partial(_prepared, request))

    def filtered() -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the first row and the float32 results of each band, which the next one overwrites."""
        for band in bands:
            sources = [request.samples[first:last] for first, last in band.sources]
            image = sources[0] if len(sources) == 1 else np.concatenate(sources)
            prepared(band.length).launch(image, floats[: band.length])
            yield band.first, floats[band.inside]

    if mode == "rescale":
        found = [finite_range(values) for _, values in filtered()]
        ends = min(low for low, _ in found), max(high for _, high in found)
    for top, values in filtered():
        checked.keep(top, values)
        part = out[top : top + len(values)]
        to_depth(
            values,
            opened.dtype,
            range_mode=mode,
            white=full_scale_of(opened.picture.dtype),
            ends=ends,
            out=part,
        )
        loss.add(values, part, opened.picture.dtype)
    return out.reshape(request.shape), checked, loss


def _prepared(request: Request, rows: int) -> Prepared:
    choice, problem = request.choice, replace(request.problem, height=rows)
    return choice.variant.prepare(problem, request.mask, choice.block)
