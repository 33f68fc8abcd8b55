"""What variants say of their tiles against what the threads of a block load, keep, read and store in PTX."""

import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from engine.device.launches import Operand
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.tile_plan import DIRECT
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.cases import Case, result_of
from tests.engine.variants.executed import observed
from tests.engine.variants.suited import mask_for, suited, typed

KERNELS = [known for known in VARIANTS if known.has_kernels]
TAUGHT = [known for known in KERNELS if known.uses_block]
OWN_BLOCKS = [known for known in KERNELS if not known.uses_block]
GHOST = 0.0


class Access:
    """What threads of a block did in one pass: with shared memory, past it, and to results."""

    def __init__(self):
        self.loaded = defaultdict(list)  # by thread: sources read from global memory
        self.kept = defaultdict(list)  # by thread: sources in the order of the loads; None: a ghost cell
        self.read = defaultdict(Counter)  # by thread: sources read from shared memory
        self.direct = defaultdict(Counter)  # by thread: sources read from global memory and not kept
        self.stored = defaultdict(set)  # by thread: results


def said(plan):
    """Return what a plan says that its block does."""
    wanted = Access()
    by_thread, source_of, loaders = defaultdict(list), cache(plan.source), plan.loaders.tolist()
    for row, column in np.argwhere(plan.loaders >= 0).tolist():
        by_thread[loaders[row][column]].append((int(plan.steps[row, column]), row, column))
    for thread, loads in by_thread.items():
        # What is loaded at once are neighbours in a row.
        for (step, row, column), (next_step, *after) in pairwise(sorted(loads)):
            assert step < next_step or after == [row, column + 1], "two cells in one step"
        wanted.kept[thread] = [source_of(row, column) for _, row, column in sorted(loads)]
    for i, j in np.ndindex(plan.computers.shape):
        thread = int(plan.computers[i, j])
        wanted.stored[thread].add((int(plan.result_rows[i, j]), int(plan.result_columns[i, j])))
        rows, columns = plan.window(i, j)
        assert plan.loaders[rows, columns].shape == plan.window_shape
        under = range(rows.start, rows.stop), range(columns.start, columns.stop, columns.step or 1)
        for row, column in product(*under):
            source = source_of(row, column)
            if loaders[row][column] != DIRECT:
                wanted.read[thread][source] += 1
            elif source is not None:
                wanted.direct[thread][source] += 1
    return wanted


class Cells:
    """Which sample of a row lies where in an array with padded rows."""

    def __init__(self, array, width):
        self.name, self._itemsize, self._row = array.name, array.values.itemsize, array.values[0].size
        values = array.values.reshape(len(array.values), -1)[:, :width]
        # No number is there twice: a thread that has it in shared memory has it from that cell.
        self.of_value = {float(value): cell for cell, value in np.ndenumerate(values)} | {GHOST: None}

    def accessed(self, step, opcode):
        """Return the cells that each thread of a step accesses, neighbours at once."""
        if opcode[0] == "cp":
            size = int(step.text.split(",")[2])
        else:
            size = np.atleast_2d(step.values).shape[0] * int(re.sub(r"\D", "", opcode[-1])) // 8
        first = step.addresses // self._itemsize
        return [[divmod(one + k, self._row) for k in range(size // self._itemsize)] for one in first.tolist()]


def did(trace, source, result):
    """Return what the threads of a traced block did, between the array that they read and the other one."""
    found = Access()
    for step in trace:
        if step.addresses is None:
            continue
        opcode = next(word for word in step.text.split() if word[0] != "@").split(".")
        threads = step.threads.tolist()
        if step.array == source.name:
            for thread, cells in zip(threads, source.accessed(step, opcode), strict=True):
                found.loaded[thread] += cells
        elif step.array == result.name:
            for thread, cells in zip(threads, result.accessed(step, opcode), strict=True):
                found.stored[thread].update(cells)
        elif step.space == "shared" and opcode[0] != "cp" and step.values.nbytes == 4 * len(threads):
            for thread, value in zip(threads, step.values.view(np.float32).tolist(), strict=True):
                if value in source.of_value and opcode[0] == "ld":
                    found.read[thread][source.of_value[value]] += 1
                elif value in source.of_value:
                    found.kept[thread].append(source.of_value[value])
    for thread, cells in found.loaded.items():
        found.direct[thread] = Counter(cells) - Counter(found.kept[thread])
    return found


def traced(known, problem, mask, block, image, at):
    """Return what the threads of one block did in each pass."""
    with observed(trace=(*at, 0)) as launches:
        result_of(known, problem, mask, block, image)
    width = image[0].size
    for step, run, arrays in launches[: len(known.plan(problem, block))]:
        assert run.trace_is_whole
        arguments = [arrays[one] for one in step.arguments if isinstance(one, Operand)]
        yield did(run.trace, *(Cells(array, width) for array in arguments))


def plain(accesses):
    """Return what threads did without those that did nothing."""
    return {thread: what for thread, what in accesses.items() if what}


def picture_of(case):
    """Return a picture without a zero, in which no number is twice as far as its type has so many."""
    size, random = case.height * case.width * case.channels, np.random.default_rng(6)
    values = random.permutation(size) + 1 if case.dtype == "float32" else random.integers(1, 256, size)
    return values.astype(case.dtype).reshape(case.height, case.width, case.channels)


def blocks_of(known, problem, block):
    across, down, _ = known.plan(problem, block)[0].grid
    return [*product(range(across), range(down))]


def test_that_each_thread_does_what_the_tile_says():
    for known in TAUGHT:
        for block, border in [(Block(4, 3), Border.CONSTANT), (Block(2, 5), Border.WRAP)]:
            case = suited(
                known, Case("tile", 7, 10, mask_shape=(3, 4), anchor=(0, 3), block=block, border=border)
            )
            mask, image = case.mask(), picture_of(case)
            problem = describe_problem(image, mask, border, GHOST)
            places, results = blocks_of(known, problem, case.block), defaultdict(Counter)
            for at in places:
                plans = known.tiles(problem, case.block, at)
                for number, plan in enumerate(plans):
                    results[number].update(zip(plan.result_rows.flat, plan.result_columns.flat, strict=True))
                if at not in (places[0], places[len(places) // 2], places[-1]):
                    continue
                found = traced(known, problem, mask, case.block, image, at)
                for plan, own in zip(plans, found, strict=True):
                    wanted = said(plan)
                    for name in ("kept", "read", "direct", "stored"):
                        assert plain(getattr(own, name)) == plain(getattr(wanted, name)), (
                            at,
                            plan.title,
                            name,
                        )
            # Every result has one block, and each pass its own.
            everywhere = Counter(product(range(problem.height), range(problem.width)))
            assert all(one == everywhere for one in results.values())


# (rows, columns, channels), sides of the mask, type.
SORTS = {
    "several blocks": ((18, 141, 1), (5, 4), "float32"),
    "channels": ((10, 45, 3), (3, 4), "float32"),
    "two steps": ((36, 13, 1), (7, 7), "float32"),
    "ring": ((18, 29, 1), (30, 3), "float32"),
    "long": ((24, 29, 1), (40, 3), "float32"),
    "bytes": ((12, 269, 1), (4, 5), "uint8"),
    "bytes of channels": ((18, 45, 3), (3, 3), "uint8"),
}
# The sorts that have code of their own in a family.
EMITTED = {
    "register-blocked": ("several blocks", "channels", "bytes", "bytes of channels"),
    "digit-sums": ("bytes", "bytes of channels"),
    "separable-fused": ("several blocks", "two steps", "ring", "long", "bytes of channels"),
    "low-rank-2": ("several blocks", "channels"),
    "box": ("several blocks", "channels", "ring"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("key", "sort"), [(key, sort) for key, sorts in EMITTED.items() for sort in sorts])
def test_that_kernels_with_blocks_of_their_own_load_what_the_tile_says(key, sort):
    known, ((height, width, channels), sides, dtype) = variant(key), SORTS[sort]
    # Code for bytes loads a cell in place of a ghost cell, and then leaves it.
    border = Border.CONSTANT if dtype == "float32" else Border.MIRROR
    case = Case("tile", height, width, channels, dtype, sides, (sides[0] - 1, 1), border)
    case = suited(known, replace(case, block=known.default_block, is_quantised=dtype == "uint8"))
    mask, image = case.mask(), picture_of(case)
    problem = describe_problem(image, mask, border, GHOST, case.problem().result_dtype)
    results, is_cut = Counter(), False
    for at in blocks_of(known, problem, case.block):
        (own,) = traced(known, problem, mask, case.block, image, at)
        for plan in known.tiles(problem, case.block, at):
            wanted = said(plan)
            for thread, cells in wanted.kept.items():
                drawn = [cell for cell in cells if cell is not None]
                assert own.loaded[thread][: len(drawn)] == drawn, (at, thread)
                assert len(own.loaded[thread]) == len(drawn) or plan.cut_rows
            for thread, stored in wanted.stored.items():
                assert stored <= own.stored[thread]
                assert stored == own.stored[thread] or plan.cut_rows
            results.update(zip(plan.result_rows.flat, plan.result_columns.flat, strict=True))
            is_cut |= bool(plan.cut_rows)
            assert not plan.cut_rows or plan.shape[0] > 60
    assert is_cut or results == Counter(product(range(height), range(width * channels)))


def test_that_every_kernel_with_shared_memory_says_who_loads_what():
    silent = []
    for known in KERNELS:
        mask = mask_for(known, 3, 5)
        problem = typed(known, describe_problem(np.zeros((40, 200, 1), np.float32), mask, "zero", 0.0))
        has_tile = any(launch.shared_bytes for launch in known.plan(problem, known.default_block))
        if has_tile and not known.tiles(problem, known.default_block, (0, 0)):
            silent.append(known.key)
    assert silent == []
    assert {*EMITTED} == {known.key for known in OWN_BLOCKS if known.rank <= 2}
