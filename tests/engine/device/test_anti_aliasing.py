"""Where results of the CPU begin in their pages, and that they are arrays like any other."""

import numpy as np
import pytest

import engine
from engine.device.anti_aliasing import ALIGNMENT_BYTES, ANTI_ALIAS_BYTES, PAGE_BYTES, empty_result
from engine.device.devices import backend
from engine.mask.mask import Mask


def is_apart(image: np.ndarray, result: np.ndarray) -> bool:
    """Return whether the result begins at the right distance from the picture in its page, to a few bytes."""
    apart = (result.ctypes.data - image.ctypes.data) % PAGE_BYTES
    return ANTI_ALIAS_BYTES - ALIGNMENT_BYTES < apart <= ANTI_ALIAS_BYTES


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 5, 3), (1024, 1024, 1)])
def test_that_a_result_is_a_plain_array_at_its_distance_from_the_picture(shape, dtype):
    for first in (0, 1, 63, 2050):
        image = np.zeros(np.prod(shape) + first, np.uint8)[first:].reshape(shape)
        result, flags = empty_result(image, shape, dtype), empty_result(image, shape, dtype).flags
        assert is_apart(image, result)
        assert (result.shape, result.dtype) == (shape, dtype)
        assert flags.c_contiguous
        assert flags.writeable
        assert flags.aligned
        assert not np.may_share_memory(result, empty_result(image, shape, dtype))
        result[...] = 7
        assert (result == 7).all()


def test_that_rows_of_a_quarter_of_a_page_are_apart_from_the_pictures_too():
    for row_bytes in (PAGE_BYTES, PAGE_BYTES // 2, PAGE_BYTES // 4):
        assert 256 <= ANTI_ALIAS_BYTES % row_bytes <= row_bytes - 256


def test_that_results_that_the_program_makes_are_apart_and_a_callers_stays_where_it_is():
    image, mask = np.zeros((256, 1024), np.float32), Mask(np.ones((3, 3)))
    for result in (
        engine.correlate(image, mask, device="cpu"),
        engine.apply(image, mask, device="cpu", budget_s=0.0).values,
        engine.filter_stream(image, mask, device="cpu").values,
        backend("cpu").allocate(image).out,
    ):
        assert is_apart(image, result)
    out = np.empty((256, 1024, 1), np.float32)
    assert backend("cpu").allocate(image[..., np.newaxis], out).out is out
