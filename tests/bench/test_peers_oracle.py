import numpy as np
import pytest

from bench.peers.cells import Cell, mask_of, pictures_of
from bench.peers.oracle import Oracle
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering import oracle

CELL = Cell(20, 17, 5, batch=2)
GREY = Cell(20, 17, 5, dtype="uint8", kind="integer")


def right(cell: Cell, border: Border = Border.ZERO) -> np.ndarray:
    mask = Mask(mask_of(cell).weights)
    return np.stack([oracle.correlate(picture, mask, border) for picture in pictures_of(cell)])


def test_that_a_right_result_passes() -> None:
    verdict = Oracle(CELL, pictures_of(CELL)).verdict(right(CELL).astype(np.float32), "zero")
    assert verdict.passed
    assert verdict.text == "within the rounding bound, every pixel"


@pytest.mark.parametrize("picture", [0, 1])
def test_that_one_wrong_sample_is_found(picture: int) -> None:
    results = right(CELL).astype(np.float32)
    results[picture, 19, 16] += np.float32(1e-4)
    verdict = Oracle(CELL, pictures_of(CELL)).verdict(results, "zero")
    assert not verdict.passed
    assert verdict.text.startswith("not verified: row 19, column 16 is ")


def test_that_nan_and_a_wrong_shape_are_found() -> None:
    oracle = Oracle(CELL, pictures_of(CELL))
    results = right(CELL).astype(np.float32)
    assert not oracle.verdict(results[:1], "zero").passed
    results[0, 3, 3] = np.nan
    assert not oracle.verdict(results, "zero").passed


def test_that_a_convolution_is_no_correlation() -> None:
    turned = Mask(mask_of(CELL).weights).flipped()
    results = np.stack([oracle.correlate(picture, turned) for picture in pictures_of(CELL)])
    assert not Oracle(CELL, pictures_of(CELL)).verdict(results.astype(np.float32), "zero").passed


def test_that_8_bit_results_may_be_one_step_off_and_not_two() -> None:
    oracle = Oracle(GREY, pictures_of(GREY))
    cut = np.floor(right(GREY)).astype(np.uint8)
    assert oracle.verdict(cut, "zero").text == "within one 8-bit step, every pixel"
    cut[0, 7, 7] -= 2
    assert not oracle.verdict(cut, "zero").passed


def test_that_our_8_bit_results_have_to_be_rounded_half_to_even() -> None:
    oracle = Oracle(GREY, pictures_of(GREY))
    rounded = np.rint(right(GREY)).astype(np.uint8)
    assert oracle.verdict(rounded, "zero", steps=0).text == "equal, rounded half to even, every pixel"
    rounded[0, 7, 7] += 1
    assert not oracle.verdict(rounded, "zero", steps=0).passed


def test_that_float32_results_of_whole_numbers_have_to_be_exact() -> None:
    oracle = Oracle(GREY, pictures_of(GREY))
    results = right(GREY).astype(np.float32)
    assert oracle.verdict(results, "zero").passed
    results[0, 4, 4] = np.nextafter(results[0, 4, 4], np.float32(np.inf))
    assert not oracle.verdict(results, "zero").passed


def test_that_a_library_without_a_border_is_compared_inside() -> None:
    results = right(GREY)
    results[:, :2], results[:, :, -2:] = 99, 99
    cut = np.rint(results).astype(np.uint8)
    oracle = Oracle(GREY, pictures_of(GREY))
    assert not oracle.verdict(cut, "zero").passed
    assert oracle.verdict(cut, "interior").passed
    cut[0, 2, 14] += 3
    assert not oracle.verdict(cut, "interior").passed


def test_that_a_replicated_border_is_compared_with_one() -> None:
    results = right(CELL, Border.REPLICATE).astype(np.float32)
    oracle = Oracle(CELL, pictures_of(CELL))
    assert oracle.verdict(results, "replicate").passed
    assert not oracle.verdict(results, "zero").passed


def test_that_an_error_of_our_own_is_granted_only_where_it_is_stated() -> None:
    results = (right(CELL) + 1e-4).astype(np.float32)
    oracle = Oracle(CELL, pictures_of(CELL))
    assert not oracle.verdict(results, "zero").passed
    assert oracle.verdict(results, "zero", added_error=2e-4).passed


def test_that_a_copy_has_to_be_the_picture() -> None:
    pictures = pictures_of(CELL)
    oracle = Oracle(CELL, pictures)
    assert oracle.verdict(pictures.copy(), "copy").passed
    assert not oracle.verdict(pictures + 1, "copy").passed


def test_that_a_large_picture_is_compared_in_part_and_says_so() -> None:
    cell = Cell(300, 300, 3)
    oracle = Oracle(cell, pictures_of(cell), affordable=100_000)
    assert "% of the pixels" in oracle.verdict(right(cell).astype(np.float32), "zero").text


def test_that_our_8_bit_results_of_weights_that_round_may_only_be_off_where_rounding_explains_it() -> None:
    cell = Cell(200, 160, 5, dtype="uint8", kind="gaussian")
    oracle, wanted = Oracle(cell, pictures_of(cell)), right(cell)
    rounded = np.rint(wanted).astype(np.uint8)
    text = "within half an 8-bit step and the rounding bound, every pixel"
    assert oracle.verdict(rounded, "zero", steps=0).text == text
    from_half = np.abs(wanted % 1 - 0.5)
    for place, is_explained in ((np.argmin(from_half), True), (np.argmax(from_half), False)):
        off = rounded.copy()
        off.flat[place] = int(off.flat[place]) + (1 if off.flat[place] < wanted.flat[place] else -1)
        assert oracle.verdict(off, "zero", steps=0).passed is is_explained
