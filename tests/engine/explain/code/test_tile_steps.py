"""The lines of a tile's steps: what loads a cell in each kernel, and what reads one that is not kept."""

import pytest

from engine.explain.code.kernel_source import source_of
from engine.explain.code.source import TileSteps, tile_steps
from engine.explain.examples import example_of, variant_named

HALO_STEPS = ("left halo", "centre", "right halo")
WITH_A_LOAD = (
    "tiled-input", "tiled", "cached", "cached-constant", "separable-l1", "separable-l2", "implicit-gemm",
    "row-cached", "row-cached-constant",
)  # fmt: skip
READ_DIRECTLY = (
    "naive", "naive-uncoalesced", "constant", "cached", "cached-constant", "separable-l0", "separable-l2",
    "row-naive", "row-constant", "row-cached", "row-cached-constant",
)  # fmt: skip


def kernels_of(key):
    return source_of(example_of(variant_named(key))).kernels


def text_of(kernel, lines):
    return [kernel.lines[line - kernel.first_line].strip() for line in lines]


def test_that_a_step_begins_with_its_comment_and_ends_where_the_cell_is_stored():
    for key in WITH_A_LOAD:
        for kernel in kernels_of(key):
            (load,) = tile_steps(kernel).loads
            first, *_, last = text_of(kernel, load)
            assert first.startswith(("# Load the", "# Build the"))
            assert last.startswith(("tile[", "x_tile[", "N_ds["))


def test_that_a_cell_that_is_not_kept_is_read_where_a_result_uses_it():
    for key in READ_DIRECTLY:
        for kernel in kernels_of(key):
            (line,) = text_of(kernel, tile_steps(kernel).reads)
            assert line.startswith("value = ")


@pytest.mark.parametrize("key", ["row-tiled", "row-tiled-constant"])
def test_that_each_of_the_three_steps_of_the_lecture_has_lines_of_its_own(key):
    (kernel,) = kernels_of(key)
    steps = tile_steps(kernel)
    comments = [text_of(kernel, steps.lines_of(step, HALO_STEPS))[0] for step in (1, 2, 3)]
    assert comments == [
        "# Load left halo cells, by the last threads.",
        "# Load centre cells, one per thread.",
        "# Load right halo cells, by the first threads.",
    ]


def test_that_a_load_in_a_loop_is_all_its_steps():
    (kernel,) = kernels_of("tiled")
    steps = tile_steps(kernel)
    assert steps.lines_of(1) == steps.lines_of(4) == steps.loads[0]


def test_that_steps_of_several_loads_without_names_are_not_known():
    assert TileSteps(loads=((1, 2), (3,))).lines_of(1) == ()


def test_that_an_emitted_kernel_has_no_lines_of_steps():
    for key in ["register-blocked", "box", "separable-fused", "low-rank-2"]:
        assert all(tile_steps(kernel) == TileSteps() for kernel in kernels_of(key))
