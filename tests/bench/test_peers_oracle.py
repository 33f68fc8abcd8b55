import numpy as np
import pytest

from bench.peers.cells import Cell, mask_of, pictures_of
from bench.peers.grid import MASKS, check_cells, tables_of
from bench.peers.measure import COLD_BYTES, copies_of
from bench.peers.oracle import Oracle
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filtering import oracle

CELL = Cell(20, 17, 5, batch=2)
GREY = Cell(20, 17, 5, dtype="uint8", kind="integer")


def judge_of(cell):
    return Oracle(cell, pictures_of(cell))


def right(cell, border=Border.ZERO):
    mask = Mask(mask_of(cell).weights)
    return np.stack([oracle.correlate(picture, mask, border) for picture in pictures_of(cell)])


def test_that_only_a_right_result_of_the_right_shape_passes():
    results = right(CELL).astype(np.float32)
    verdict = judge_of(CELL).verdict(results, "zero")
    assert verdict.passed
    assert verdict.text == "within the rounding bound, every pixel"
    assert not judge_of(CELL).verdict(results[:1], "zero").passed
    flipped = Mask(mask_of(CELL).weights).flipped()
    convolved = np.stack([oracle.correlate(picture, flipped) for picture in pictures_of(CELL)])
    assert not judge_of(CELL).verdict(convolved.astype(np.float32), "zero").passed


def test_that_one_wrong_sample_is_found():
    for wrong in [1e-4, np.nan]:
        for at in [(0, 19, 16, 0), (1, 19, 16, 0)]:
            results = right(CELL).astype(np.float32)
            results[at] += np.float32(wrong)
            verdict = judge_of(CELL).verdict(results, "zero")
            assert not verdict.passed
            assert verdict.text.startswith("not verified: row 19, column 16 is ")


def one_step(results, *, off):
    results[0, 7, 7] = int(results[0, 7, 7, 0]) + off


def next_float(results):
    results[0, 4, 4] = np.nextafter(results[0, 4, 4], np.float32(np.inf))


@pytest.mark.parametrize(
    ("results", "steps", "text", "spoil"),
    [
        (np.floor(right(GREY)).astype(np.uint8), 1, "within one 8-bit step, every pixel",
         lambda results: one_step(results, off=-2)),
        (np.rint(right(GREY)).astype(np.uint8), 0, "equal, rounded half to even, every pixel",
         lambda results: one_step(results, off=1)),
        (right(GREY).astype(np.float32), 1, "", next_float),
    ],
    ids=["8-bit of others", "8-bit of ours", "float32 of whole numbers"],
)  # fmt: skip
def test_that_results_of_whole_weights_may_be_as_far_off_as_they_promise(results, steps, text, spoil):
    fine = judge_of(GREY).verdict(results, "zero", steps=steps)
    assert fine.passed
    assert text in fine.text
    spoil(results)
    assert not judge_of(GREY).verdict(results, "zero", steps=steps).passed


def test_that_a_result_is_compared_where_that_can_be_done():
    results = right(GREY)
    results[:, :2], results[:, :, -2:] = 99, 99
    cut = np.rint(results).astype(np.uint8)
    judge = judge_of(GREY)
    assert not judge.verdict(cut, "zero").passed
    assert judge.verdict(cut, "interior").passed
    cut[0, 2, 14] += 3
    assert not judge.verdict(cut, "interior").passed
    cell = Cell(300, 300, 3)
    judge = Oracle(cell, pictures_of(cell), affordable=100_000)
    assert "% of the pixels" in judge.verdict(right(cell).astype(np.float32), "zero").text


def test_that_a_copy_a_border_and_a_stated_error_are_compared_with_what_they_are():
    pictures, results = pictures_of(CELL), right(CELL, Border.REPLICATE).astype(np.float32)
    found = [
        judge_of(CELL).verdict(*given).passed
        for given in (
            (results, "replicate"), (results, "zero"), (pictures.copy(), "copy"), (pictures + 1, "copy"),
        )
    ]  # fmt: skip
    assert found == [True, False, True, False]
    results = (right(CELL) + 1e-4).astype(np.float32)
    assert not judge_of(CELL).verdict(results, "zero").passed
    assert judge_of(CELL).verdict(results, "zero", added_error=2e-4).passed


def test_that_our_8_bit_results_of_weights_that_round_may_only_be_off_where_rounding_explains_it():
    cell = Cell(200, 160, 5, dtype="uint8", kind="gaussian")
    judge, wanted = judge_of(cell), right(cell)
    rounded = np.rint(wanted).astype(np.uint8)
    text = "within half an 8-bit step and the rounding bound, every pixel"
    assert judge.verdict(rounded, "zero", steps=0).text == text
    from_half = np.abs(wanted % 1 - 0.5)
    for index, is_explained in ((np.argmin(from_half), True), (np.argmax(from_half), False)):
        off = rounded.copy()
        off.flat[index] = int(off.flat[index]) + (1 if off.flat[index] < wanted.flat[index] else -1)
        assert judge.verdict(off, "zero", steps=0).passed is is_explained


def every_cell(device, *, quick):
    return {cell for table in tables_of(device, quick=quick) for cell in table.cells}


@pytest.mark.parametrize("device", ["gpu", "cpu"])
def test_that_cells_of_both_grids_have_keys_of_their_own(device):
    quick, cells = (every_cell(device, quick=quick) for quick in (True, False))
    assert set(check_cells(device)) <= quick & cells
    assert len({cell.key for cell in cells}) == len(cells)
    assert {Cell.from_json(cell.as_json()) for cell in cells} == cells


def test_that_whole_weights_cannot_saturate_8_bit_results():
    for side in MASKS:
        mask = mask_of(Cell(8, 8, side, dtype="uint8", kind="integer"))
        assert mask.divisor is not None
        assert (mask.whole / mask.divisor == mask.weights32).all()
        assert mask.weights32.min() >= 0
        assert mask.weights.sum() <= 1


def test_that_masks_are_the_same_for_all_who_factor_them_or_round_them_to_float32():
    gaussian, random = mask_of(Cell(8, 8, 7, kind="gaussian")), mask_of(Cell(8, 8, 5))
    assert (np.outer(gaussian.factor, gaussian.factor) == gaussian.weights).all()
    assert (random.weights32.astype(np.float64) == random.weights).all()
    assert np.linalg.matrix_rank(random.weights) == 5


def test_that_pictures_are_the_same_each_time():
    cell = Cell(5, 6, 3, channels=3, dtype="uint8", batch=2)
    assert pictures_of(cell).shape == (2, 5, 6, 3)
    assert (pictures_of(cell) == pictures_of(cell)).all()
    cell = Cell(1024, 1024, 5, cache="cold")
    assert copies_of(cell) * 2 * cell.picture_bytes >= COLD_BYTES
    assert copies_of(Cell(16384, 16384, 5, cache="cold")) == 1
    assert copies_of(Cell(1024, 1024, 5)) == 1
