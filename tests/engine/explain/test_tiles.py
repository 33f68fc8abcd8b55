"""Tiles against what threads did, told by the values of the picture, and against the models of work."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import chain, product

import numpy as np
import pytest

from engine.device.launches import Operand
from engine.explain.messages import DIRECT, NO_THREAD
from engine.explain.tiles import tile_plans
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.run.task import Choice
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.case_lists import compiled_anyhow, one_case, suited
from tests.engine.variants.cases import Case, result_of
from tests.engine.variants.executed import is_as_modelled, observed
from tests.picture_jobs import filter_job

TAUGHT = [known for known in VARIANTS if known.has_kernels and known.uses_block]
OWN_BLOCKS = [known for known in VARIANTS if known.has_kernels and not known.uses_block and known.rank <= 2]
# Those that keep every cell of the input tile, each once.
KEEPING = ("tiled", "tiled-input", "separable-l1", "row-tiled", "row-tiled-constant")
GHOST = 0.0


class Cells:
    """Which sample of a row lies where in an array with padded rows."""

    def __init__(self, array, width):
        self.name, self._itemsize, self._row = array.name, array.values.itemsize, array.values[0].size
        values = array.values.reshape(len(array.values), -1)[:, :width]
        # No number is there twice: a thread that has it in shared memory has it from that cell.
        self.of_value = {float(value): cell for cell, value in np.ndenumerate(values)} | {GHOST: None}

    def accessed(self, access):
        """Return the cells that each thread of an access has."""
        first = access.addresses // self._itemsize
        count = access.size // self._itemsize
        return [[divmod(one + k, self._row) for k in range(count)] for one in first.tolist()]


def did(accesses, source, result):
    """Return by thread what is loaded, kept in shared memory (None: a ghost cell), and stored as a result."""
    loaded, kept, stored = (defaultdict(list) for _ in range(3))
    for access in accesses:
        threads = access.threads.tolist()
        array, found = (source, loaded) if access.array == source.name else (result, stored)
        if access.array == array.name:
            for thread, cells in zip(threads, array.accessed(access), strict=True):
                found[thread] += cells
        elif access.space == "shared" and access.instruction.name == "st" and access.values.itemsize == 4:
            for thread, value in zip(threads, access.values.view(np.float32)[:, 0].tolist(), strict=True):
                if value in source.of_value:
                    kept[thread].append(source.of_value[value])
    return loaded, kept, stored


def traced(known, problem, mask, block, image, at):
    """Return what the threads of one block did in each pass."""
    with observed(at=(*at, 0)) as launches:
        result_of(known, problem, mask, block, image)
    for step, _, arrays, accesses in launches[: len(known.plan(problem, block))]:
        arguments = [arrays[one] for one in step.arguments if isinstance(one, Operand)]
        yield did(accesses, *(Cells(array, image[0].size) for array in arguments))


def check_results(plan, stored):
    written = {
        (thread, *plan.result_place(i, j)) for (i, j), thread in np.ndenumerate(plan.writers) if thread >= 0
    }
    assert written == {(thread, *cell) for thread, cells in stored.items() for cell in cells}


def check_cells(plan, loaded, kept, keeps_all):
    """Check each cell of a tile, and that what a result needs is there."""
    for (row, column), thread in np.ndenumerate(plan.loaders):
        source = plan.source(row, column)
        if thread >= 0:
            assert source in kept[thread]
        elif thread == DIRECT:
            assert any(source in cells for cells in loaded.values())
    # One row of the picture does not say how far rows lie apart in shared memory.
    says_ghosts = keeps_all and (~plan.ghosts).any(axis=1).sum() > 1
    is_known = (plan.loaders != NO_THREAD) | (plan.ghosts & ~np.bool_(says_ghosts))
    for i, j in np.argwhere(plan.writers >= 0).tolist():
        window = plan.window(i, j)
        assert is_known[window].shape == plan.window_shape
        assert is_known[window].all()


def places_of(known, problem, block):
    across, down, _ = known.plan(problem, block)[0].grid
    return [*product(range(across), range(down))]


def tiles_of(known, problem, mask, block, at):
    """Return the tiles of a block of a variant's kernel."""
    samples = np.zeros((problem.height, problem.width, problem.channels), problem.dtype)
    return tile_plans(filter_job(Choice(known, block), problem, mask, samples), at)


@pytest.mark.slow
@pytest.mark.parametrize("known", TAUGHT, ids=lambda one: one.key)
def test_that_each_thread_does_what_the_tile_says(known):
    case = one_case(known)
    mask = case.mask()
    # No zero, and no number twice.
    image = (np.random.default_rng(6).permutation(70) + 1).astype(np.float32).reshape(7, 10, 1)
    problem = describe_problem(image, mask, case.border, GHOST)
    places = places_of(known, problem, case.block)
    for at in (places[0], places[len(places) // 2], places[-1]):
        plans = tiles_of(known, problem, mask, case.block, at)
        found = traced(known, problem, mask, case.block, image, at)
        for plan, (loaded, kept, stored) in zip(plans, found, strict=True):
            check_results(plan, stored)
            check_cells(plan, loaded, kept, known.key in KEEPING)
            read, had = (Counter(chain(*one.values())) for one in (loaded, kept))
            assert plan.loads == had.total() - had[None]
            assert plan.direct_reads == (read - had).total()


# Of masks so high that tiles are rings, and that a thread has few rows: picture and mask.
HIGH = {"separable-fused": (((18, 29), (30, 3)), ((24, 29), (40, 3))), "box": (((18, 29), (30, 3)),)}


def own_cases(known):
    """Return cases of several blocks of a kernel with its own blocks: the code of other tests, and HIGH."""
    for case, _ in compiled_anyhow(known):
        yield replace(case, height=18, width=150 // case.channels, block=known.default_block)
    for picture, sides in HIGH.get(known.key, ()):
        case = Case("tile", *picture, mask_shape=sides, anchor=(sides[0] - 1, 1), border=Border.ZERO)
        yield suited(known, replace(case, block=known.default_block))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("known", "case"),
    [
        pytest.param(known, case, marks=[pytest.mark.matrix] * (number > 4), id=f"{known.key} {number}")
        for known in OWN_BLOCKS
        for number, case in enumerate(own_cases(known))
    ],
)
def test_that_all_blocks_load_what_the_model_of_work_says_and_have_each_result_once(known, case):
    height, width, channels, dtype = case.height, case.width, case.channels, case.dtype
    mask, image = case.mask(), np.zeros((height, width, channels), dtype)
    problem = describe_problem(image, mask, case.border, case.cval, case.problem().result_dtype)
    results, loads = Counter(), 0
    for at in places_of(known, problem, case.block):
        for plan in tiles_of(known, problem, mask, case.block, at):
            results.update(plan.result_place(i, j) for i, j in np.argwhere(plan.writers >= 0).tolist())
            loads += plan.loads
            assert not plan.direct_reads
            needed = np.zeros(plan.shape, bool)
            for i, j in np.argwhere(plan.writers >= 0).tolist():
                needed[plan.window(i, j)] = True
            # What lies in the picture and under the mask is loaded by somebody.
            assert (plan.loaders[needed & ~plan.ghosts] >= 0).all()
    assert results == Counter(product(range(height), range(width * channels)))
    if dtype == "float32" and is_as_modelled(known, case):
        assert loads == known.work(problem, case.block).picture_loads


def test_that_each_part_of_a_row_is_loaded_in_its_step():
    case = Case("tile", 7, 40, mask_shape=(1, 5), block=Block(8, 1))
    known, mask = variant("row-tiled"), case.mask()
    problem = describe_problem(np.zeros((7, 40, 1), np.uint8), mask, Border.ZERO, GHOST)
    (plan,) = tiles_of(known, problem, mask, case.block, (1, 0))
    # The left halo by the last threads, the centre, the right halo by the first ones.
    assert plan.loaders.tolist() == [[6, 7, *range(8), 0, 1]]
    assert plan.steps.tolist() == [[1] * 2 + [2] * 8 + [3] * 2]
