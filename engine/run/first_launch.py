"""The first launch, over a result that was filled, so that unwritten samples are detected."""

import numpy as np

from engine.device.backend import NAN_BYTE, Backend, Buffers
from engine.device.launches import Prepared
from engine.run.sampling import timed

# No whole number is out of the question as a result, so there are two fills with no bit in common: what
# differs between the two runs was not written in them.
WHOLE_NUMBER_FILLS = (0x55, 0xAA)

_BLOCK_BYTES = 1024


def run_over_fills(
    prepared: Prepared, buffers: Buffers, backend: Backend
) -> tuple[np.ndarray, tuple[float, ...], str]:
    """Launch over a filled result: NaN under float32; two launches over two fills under 8 and 16 bit.

    Returns the host's array with the result, the time of each launch in ms, and where whole numbers were not
    written, in words; NaN is left for the oracle to find.
    """

    def run_over(fill: int) -> tuple[np.ndarray, float]:
        backend.fill_result(buffers, fill)
        _, launch_ms = timed(lambda: backend.run(prepared, buffers))
        return backend.download(buffers), launch_ms

    if buffers.host_out.dtype.kind == "f":
        values, first_ms = run_over(NAN_BYTE)
        return values, (first_ms,), ""
    values, first_ms = run_over(WHOLE_NUMBER_FILLS[0])
    first = block_sums(values)
    values, second_ms = run_over(WHOLE_NUMBER_FILLS[1])
    times_ms = first_ms, second_ms
    if np.array_equal(first, block_sums(values)):
        return values, times_ms, ""
    # Where, takes the samples themselves. What the third run does not show again was not always the same.
    other = values.copy()
    return values, times_ms, _difference(run_over(WHOLE_NUMBER_FILLS[0])[0], other)


def block_sums(values: np.ndarray) -> np.ndarray:
    """Return a sum for each 1024 bytes of an array, and its last bytes: other ones where two fills differ.

    A second array of a picture of 12 megapixels takes 36 MB and 75 ms, these sums 0.3 MB and 5 ms. The bytes
    of a block are 128 numbers of 64 bit. Where n of them have an unwritten byte at the same place p, 0 to 7,
    the two fills make their sum differ by 0x55 n 256^p; n is at most 128, so that nothing cancels out.
    """
    samples = values.reshape(-1).view(np.uint8)
    whole = len(samples) // _BLOCK_BYTES * _BLOCK_BYTES
    blocks = samples[:whole].view(np.uint64).reshape(-1, _BLOCK_BYTES // 8)
    return np.concatenate([np.add.reduce(blocks, axis=1), samples[whole:].astype(np.uint64)])


def _difference(first: np.ndarray, second: np.ndarray) -> str:
    if np.array_equal(first, second):
        return "not verified: two runs over two fills gave different results, two more the same ones"
    row, column, channel = (int(index[0]) for index in np.nonzero(first != second))
    return (
        f"not verified: row {row}, column {column}, channel {channel} is {first[row, column, channel]} and, "
        f"in a second run over another fill, {second[row, column, channel]}: it is unwritten, or not always "
        "the same"
    )
