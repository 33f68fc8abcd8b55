"""The lecture's own sentences, and what is said of cells in two dimensions."""

import pytest

from engine.geometry.border import Border
from gui.explore.explain.tile_painter import (
    accesses,
    cell_name,
    cell_sentence,
    summary,
    use_sentence,
)


@pytest.mark.parametrize(
    ("j", "words"),
    [
        (0, "P[8] uses N[6] to N[10]"),
        (1, "P[9] uses N[7] to N[11]"),
        (2, "P[10] uses N[8] to N[12]"),
        (6, "P[14] uses N[12] to N[16]"),
        (7, "P[15] uses N[13] to N[17]"),
    ],
)
def test_that_a_result_uses_the_cells_that_the_lecture_says(tile_of, j, words):
    (plan,) = tile_of("row-tiled", (8, 1), (1, 0))
    assert use_sentence(plan, 0, j) == f"{words}. Thread ({j}, 0) writes it."


def test_that_the_lectures_tile_of_8_loads_12_cells_instead_of_40(tile_of):
    (plan,) = tile_of("row-tiled", (8, 1), (1, 0))
    assert summary(plan) == "8 results use 5 cells each: 40 accesses become 12 loads (3.33 times fewer)."
    # Simpler tiled: the own 8, and of the halo 2 + 1 cells on either side, each time.
    (plan,) = tile_of("row-cached", (8, 1), (1, 0))
    assert (plan.loads, plan.direct_reads) == (8, 6)
    (plan,) = tile_of("row-naive", (8, 1), (1, 0))
    assert summary(plan) == (
        "8 results use 5 cells each: 40 loads from global memory, and nothing is kept in shared memory."
    )


def test_that_at_the_edge_a_ghost_cell_is_neither_an_access_nor_a_load(tile_of):
    """The lecture's kernel asks `if (N_index >= 0 ...)` before it reads: 37 of 40, so 3.7 and not 4 times."""
    (plan,) = tile_of("row-tiled", (8, 1))
    assert summary(plan) == (
        "8 results use 5 cells each; 3 of these 40 lie outside the picture and are not read: "
        "37 accesses become 10 loads (3.7 times fewer)."
    )
    (naive,) = tile_of("row-naive", (8, 1))
    assert "37 loads from global memory" in summary(naive)
    (plan,) = tile_of("tiled", (8, 8), mask=(5, 5), size=(32, 32))
    assert "1,369 accesses become 100 loads (13.7 times fewer)." in summary(plan)
    # A border that repeats cells of the picture reads them.
    (plan,) = tile_of("row-tiled", (8, 1), border=Border.REPLICATE)
    assert summary(plan).startswith("8 results use 5 cells each: 40 accesses become 12 loads")


def test_that_a_cell_says_which_results_use_it_as_the_lecture_does(tile_of):
    (plan,) = tile_of("row-tiled", (8, 1))
    assert cell_sentence(plan, 0, 4).startswith("N[2]: own cell.")
    assert cell_sentence(plan, 0, 4).endswith(" In this block P[0] to P[4] use it.")
    assert cell_sentence(plan, 0, 11).endswith(" In this block P[7] uses it.")
    (plan,) = tile_of("tiled", (8, 8), mask=(5, 5), size=(32, 32))
    said = " In this block P[2, 2] to P[6, 6] use it."
    assert cell_sentence(plan, 6, 6).endswith(said)
    for key, channels in (("cached", 1), ("register-blocked", 3)):
        (plan,) = tile_of(key, (32, 4), mask=(3, 5), size=(21, 40), channels=channels)
        for row, column in ((0, 0), (2, 4), (4, 30), (plan.shape[0] - 1, plan.shape[1] - 1)):
            using = [
                (i, j)
                for i in range(plan.writers.shape[0])
                for j in range(plan.writers.shape[1])
                if row in range(plan.shape[0])[plan.window(i, j)[0]]
                and column in range(plan.shape[1])[plan.window(i, j)[1]]
            ]
            names = [cell_name(plan, "P", *plan.result_place(*at)) for at in using]
            one = names[0] if names else "no result"
            said = f"{one} to {names[-1]} use it." if len(names) > 1 else f"{one} uses it."
            assert cell_sentence(plan, row, column).endswith(f" In this block {said}")


def test_that_each_cell_says_its_loader_and_its_step_by_name(tile_of):
    (plan,) = tile_of("row-tiled", (8, 1), (1, 0))
    assert cell_sentence(plan, 0, 0) == (
        "N[6]: halo. Thread (6, 0) loads it in step 1. In this block P[8] uses it."
    )
    assert "N[8]: own cell. Thread (0, 0) loads it in step 2." in cell_sentence(plan, 0, 2)
    assert "N[17]: halo. Thread (1, 0) loads it in step 3." in cell_sentence(plan, 0, 11)


def test_that_ghost_cells_are_named_with_what_takes_their_place(tile_of):
    (plan,) = tile_of("row-tiled", (8, 1))
    assert use_sentence(plan, 0, 0).startswith("P[0] uses N[-2] to N[2]; 2 of them are ghost cells.")
    assert use_sentence(plan, 0, 1).startswith("P[1] uses N[-1] to N[3]; 1 of them is a ghost cell.")
    said = "N[-2]: ghost cell, the border's value in its place. Thread (6, 0) fills it in step 1."
    assert cell_sentence(plan, 0, 0).startswith(said)
    (plan,) = tile_of("row-tiled", (8, 1), border=Border.REFLECT)
    assert "ghost cell, N[1] in its place. Thread (6, 0) loads it" in cell_sentence(plan, 0, 0)
    (plan,) = tile_of("cached", (4, 4), mask=(3, 3), size=(9, 9))
    assert "the border's value in its place. In this block" in cell_sentence(plan, 0, 0)


def test_that_counting_all_windows_at_once_is_counting_one_after_the_other(tile_of):
    for key in ("cached", "naive", "tiled"):
        for at in ((0, 0), (1, 1), (3, 2)):
            (plan,) = tile_of(key, (8, 8), at, mask=(5, 4), size=(21, 30))
            counted = 0
            for i in range(plan.writers.shape[0]):
                for j in range(plan.writers.shape[1]):
                    window = plan.window(i, j)
                    counted += (~plan.ghosts[window]).sum()
            assert accesses(plan) == counted
