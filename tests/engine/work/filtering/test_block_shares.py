"""Halo and idle threads of launches."""

from engine.geometry.block import Block
from engine.work.filtering.variants import variant
from engine.work.problem import Problem


def halos_of(key, problem):
    known = variant(key)
    return known.halos(problem, known.plan(problem, known.block_for(Block(32, 16))))


def test_that_the_halo_is_the_input_tile_over_the_output_tile():
    for key, wanted in [
        ("naive", 20 * 36 / 512),
        ("tiled", 20 * 36 / 512),
        ("cached", 20 * 36 / 512),
        # The block is the input tile.
        ("tiled-input", 512 / (12 * 28)),
    ]:
        problem = Problem(999, 999, 1, "float32", (5, 5), (2, 2))
        assert halos_of(key, problem) == (wanted,)


def test_that_two_passes_have_each_the_halo_of_its_own_direction():
    problem = Problem(999, 999, 1, "float32", (5, 5), (2, 2))
    assert halos_of("separable-l1", problem) == (36 / 32, 20 / 16)


def test_that_a_block_which_moves_down_has_less_halo():
    tall = Problem(2000, 512, 1, "float32", (5, 5), (2, 2))
    short = Problem(96, 512, 1, "float32", (5, 5), (2, 2))
    (of_tall,), (of_short,) = (halos_of("box", one) for one in (tall, short))
    assert 1 < of_tall <= of_short
