"""Results of another type than the file's, computed and converted band by band.

A float32 result of 12 megapixels of colour takes four times the memory of the picture: 144 MB for each worker
of a batch. In bands a worker holds the picture, the picture to save, and one band of float32 values, which is
used again; what is verified of them is kept. The bits are those of the whole float32 result.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.flow.stream import Preparing
from engine.geometry.cut import Span, bands
from engine.geometry.range_modes import RangeMode
from engine.image.save import Conversion, Loss
from engine.verify.regions import CheckedSamples
from engine.work.resolve import Resolved

# Bytes of float32 results: they stay in the caches of a core until they are converted.
BAND_BYTES = 2 << 20


def bands_to_convert(call: Resolved) -> tuple[Span, ...]:
    """Return the bands that a picture is computed in."""
    return bands(call.reach, call.problem.height, call.problem.rows_of(BAND_BYTES))


def convert(
    call: Resolved, out: np.ndarray, floats: NDArray[np.float32], checked: CheckedSamples, mode: RangeMode
) -> Loss:
    """Compute a picture on the CPU into samples `out` of a file; return what these lose.

    `floats` has room for the result of the highest band with its halo; `checked` keeps what is verified.
    """
    conversion = Conversion(call.samples.dtype, out.dtype, mode)
    conversion.find_ends(values for _, values in _computed(call, floats))
    for top, values in _computed(call, floats):
        checked.keep(top, values)
        conversion.samples(values, out[top : top + len(values)])
    return conversion.loss


def _computed(call: Resolved, floats: NDArray[np.float32]) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the first row and the float32 results of each band, which the next one overwrites."""
    preparing, samples = Preparing(), call.samples
    for band in bands_to_convert(call):
        sources = [samples[first:last] for first, last in band.sources]
        image = sources[0] if len(sources) == 1 else np.concatenate(sources)
        preparing.ready(lambda: call, image.shape).launch(image, floats[: band.length])
        yield band.first, floats[band.inside]
