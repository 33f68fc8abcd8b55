"""Where results of the CPU lie in their pages, and that they are arrays like any other."""

import numpy as np
import pytest

import engine
from engine.device.anti_aliasing import ALIGNMENT_BYTES, ANTI_ALIAS_BYTES, PAGE_BYTES, empty_result
from engine.device.devices import backend
from engine.mask.mask import Mask


def is_further_on(image: np.ndarray, result: np.ndarray) -> bool:
    """Return whether the result begins as much further on in its page as it should, to a few bytes."""
    further_on = (result.ctypes.data - image.ctypes.data) % PAGE_BYTES
    return ANTI_ALIAS_BYTES - ALIGNMENT_BYTES < further_on <= ANTI_ALIAS_BYTES


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("first", [0, 1, 63, 2050])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 5, 3), (1024, 1024, 1)])
def test_that_a_result_begins_further_on_in_its_page_than_the_picture(
    shape: tuple[int, int, int], first: int, dtype: str
) -> None:
    image = np.zeros(np.prod(shape) + first, np.uint8)[first:].reshape(shape)
    result = empty_result(image, shape, dtype)
    assert is_further_on(image, result)
    assert result.shape == shape
    assert result.dtype == dtype
    flags = result.flags
    assert flags.c_contiguous
    assert flags.writeable
    assert flags.aligned
    result[...] = 7
    assert (result == 7).all()


def test_that_rows_of_a_quarter_of_a_page_do_not_lie_at_the_pictures_place_either() -> None:
    for row_bytes in (PAGE_BYTES, PAGE_BYTES // 2, PAGE_BYTES // 4):
        apart = ANTI_ALIAS_BYTES % row_bytes
        assert 256 <= apart <= row_bytes - 256


def test_that_each_result_has_memory_of_its_own() -> None:
    image = np.zeros((9, 9, 1), np.float32)
    assert not np.may_share_memory(
        empty_result(image, (9, 9, 1), "uint8"), empty_result(image, (9, 9, 1), "uint8")
    )


def test_that_results_that_the_program_makes_lie_so() -> None:
    image = np.zeros((1024, 1024), np.float32)
    for result in (
        engine.correlate(image, Mask(np.ones((3, 3))), device="cpu"),
        engine.apply(image, Mask(np.ones((3, 3))), device="cpu", budget_s=0.0).values,
        engine.filter_stream(image, Mask(np.ones((3, 3))), device="cpu").values,
        backend("cpu").allocate(image).out,
    ):
        assert is_further_on(image, result)


def test_that_a_result_of_the_caller_stays_where_it_is() -> None:
    image, out = np.zeros((2, 64, 64, 1), np.float32)
    assert backend("cpu").allocate(image, out).out is out
