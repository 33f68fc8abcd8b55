import numpy as np
import pytest

from bench.peers.cells import Cell, mask_of, pictures_of
from bench.peers.grid import MASKS, check_cells, tables_of
from bench.peers.measure import COLD_BYTES, copies_of


def every_cell(device: str, *, quick: bool) -> set[Cell]:
    return {cell for table in tables_of(device, quick=quick) for cell in table.cells}


@pytest.mark.parametrize("device", ["gpu", "cpu"])
def test_that_a_cell_has_a_key_of_its_own_and_the_check_measures_cells_of_both_grids(device):
    quick, cells = (every_cell(device, quick=quick) for quick in (True, False))
    assert set(check_cells(device)) <= quick & cells
    assert len({cell.key for cell in cells}) == len(cells)
    assert {Cell.from_json(cell.as_json()) for cell in cells} == cells


@pytest.mark.parametrize("side", MASKS)
def test_that_whole_weights_cannot_saturate_8_bit_results(side):
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


def test_that_pictures_are_always_the_same():
    cell = Cell(5, 6, 3, channels=3, dtype="uint8", batch=2)
    assert pictures_of(cell).shape == (2, 5, 6, 3)
    assert (pictures_of(cell) == pictures_of(cell)).all()


def test_that_a_cold_cell_has_more_copies_than_a_cache_keeps():
    cell = Cell(1024, 1024, 5, cache="cold")
    assert copies_of(cell) * 2 * cell.picture_bytes >= COLD_BYTES
    assert copies_of(Cell(16384, 16384, 5, cache="cold")) == 1
    assert copies_of(Cell(1024, 1024, 5)) == 1
