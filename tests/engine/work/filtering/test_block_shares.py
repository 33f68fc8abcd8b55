"""Halo and idle threads of launches."""

import pytest

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.suited import block_for, mask_for, typed

KERNELS = [known for known in VARIANTS if known.has_kernels]
TAUGHT = [known for known in KERNELS if known.uses_block]


def problem_for(known, height=61, width=83, border=Border.REPLICATE):
    mask = mask_for(known, 5, 7)
    return typed(known, Problem(height, width, 1, "float32", mask.shape, mask.anchor, border)), mask


def halos_of(key, problem):
    known = variant(key)
    return known.halos(problem, known.plan(problem, known.block_for(Block(32, 16))))


def test_that_every_kernel_says_its_halo():
    for known in KERNELS:
        problem, mask = problem_for(known)
        block = block_for(known, mask, known.default_block)
        launches = known.plan(problem, block)
        halos = known.halos(problem, launches)
        assert len(halos) == len(launches)
        assert all(halo > 1 for halo in halos)
        assert all(0 <= launch.idle_threads < 1 for launch in launches)


@pytest.mark.parametrize("known", TAUGHT, ids=lambda known: known.key)
def test_that_threads_without_a_result_are_idle(known):
    problem, mask = problem_for(known)
    block = block_for(known, mask, Block(8, 4))
    for launch in known.plan(problem, block):
        assert launch.idle_threads == 1 - problem.height * problem.width / launch.threads


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
