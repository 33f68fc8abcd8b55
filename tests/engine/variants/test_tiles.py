"""What variants say of their tiles against what the threads of their own source really load and compute."""

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.tile_plan import DIRECT
from engine.variants.tensor_cores import digit_sums
from engine.work.filtering.resolve import describe_problem
from engine.work.filtering.variants import VARIANTS
from tests.engine.variants import counting
from tests.engine.variants.cases import Case
from tests.engine.variants.counting import count
from tests.engine.variants.suited import mask_for, suited, typed

RANDOM = np.random.default_rng(6)
KERNELS = [known for known in VARIANTS if known.has_kernels]
TAUGHT = [known for known in KERNELS if known.uses_block]


def described(known, case):
    """Return the problem and mask of a case, the grid, and the tiles of each block by its place."""
    mask, block = case.mask(), case.block
    image = RANDOM.integers(0, 256, (case.height, case.width, case.channels)).astype(case.dtype)
    result = case.dtype if case.is_quantised else "float32"
    problem = describe_problem(image, mask, case.border, 2.0, result)
    across, down, _ = known.plan(problem, block)[0].grid
    tiles = {at: known.tiles(problem, block, at) for at in product(range(across), range(down))}
    return problem, mask, image, tiles


class Unknown:
    """A sample whose value no access of memory depends on: it stands for all results of arithmetic."""

    __array_ufunc__ = None
    __slots__ = ()

    def __init__(self, *value):
        pass

    def _same(self, other=None):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = _same

    def _no(self, other):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _no

    def __int__(self):
        return 0

    def __float__(self):
        return 0.0


@pytest.fixture(autouse=True)
def unknown_samples(monkeypatch):
    """Have nothing computed: arithmetic on counted numbers took two thirds of the time."""
    monkeypatch.setattr(counting, "Number", Unknown)


class Access:
    """What threads of one pass of the traced run did, by block: in shared memory, past it, and to results."""

    def __init__(self):
        self.kept = defaultdict(list)  # by thread: sources in the order of the loads; None: a ghost cell
        self.read = defaultdict(Counter)  # by thread: sources read from shared memory
        self.direct = defaultdict(Counter)  # by thread: sources read from global memory and not kept
        self.stored = defaultdict(set)  # by thread: results


def accesses(trace, plan_count, channels=0):
    """Return the Access of each pass by block; of the first channel, or of all side by side."""
    found = [defaultdict(Access) for _ in range(plan_count)]
    held = {}  # what lies in shared memory, by block, array and index
    # By block and thread: what was loaded from global memory and is not kept yet, the oldest first.
    loaded = defaultdict(list)
    weighed = set()  # blocks and threads whose last load was of a weight
    passes = {"picture": 0, "scratch": plan_count - 1, "out": plan_count - 1}
    now = 0

    def place_of(index):
        return (index[0], index[1] * channels + index[2]) if channels else index[:2]

    for block, thread, array, what, index in trace:
        kind, who = array.kind, (block, thread)
        if kind in ("weight", "constant"):
            weighed.add(who)
            continue
        of_weight = who in weighed
        weighed.discard(who)
        access, is_counted = found[now][block[:2]], channels or not block[2]
        if kind == "shared" and what == "stores":
            place, waiting = (block, id(array), index), loaded[who]
            if of_weight and not waiting:
                held[place] = "weight"
                continue
            held[place] = waiting.pop(0) if waiting else None
            if is_counted:
                access.kept[thread].append(held[place])
            continue
        if who in loaded and (what == "stores" or kind == "shared" or now != passes[kind]):
            # Something else follows: what was loaded is not kept.
            for source in loaded.pop(who):
                access.direct[thread][source] += 1
        if kind == "shared":
            source = held.get((block, id(array), index))
            if is_counted and source != "weight":
                access.read[thread][source] += 1
        elif what == "loads":
            now = passes[kind]
            if is_counted:
                loaded[who].append(place_of(index))
        elif is_counted:
            number = 0 if kind == "scratch" else plan_count - 1
            found[number][block[:2]].stored[thread].add(place_of(index))
    return found


def thread_of(plan, number):
    return number % plan.block.x, number // plan.block.x, 0


def said(plan):
    """Return the same as the plan says it."""
    wanted = Access()
    by_thread, source_of, loaders = defaultdict(list), cache(plan.source), plan.loaders.tolist()
    for row, column in np.argwhere(plan.loaders >= 0).tolist():
        thread = thread_of(plan, int(plan.loaders[row, column]))
        by_thread[thread].append((int(plan.steps[row, column]), row, column))
    for thread, loads in by_thread.items():
        # What is loaded at once are neighbours in a row.
        for (step, row, column), (next_step, *after) in pairwise(sorted(loads)):
            assert step < next_step or after == [row, column + 1], "two cells in one step"
        wanted.kept[thread] = [source_of(row, column) for _, row, column in sorted(loads)]
    for i, j in np.ndindex(plan.computers.shape):
        thread = thread_of(plan, int(plan.computers[i, j]))
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


@pytest.mark.parametrize(
    ("block", "border"),
    [
        (Block(4, 3), Border.ZERO),
        pytest.param(Block(8, 8), Border.MIRROR, marks=pytest.mark.slow),
        pytest.param(Block(2, 1), Border.MIRROR, marks=pytest.mark.slow),
        pytest.param(Block(1, 5), Border.WRAP, marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("known", TAUGHT, ids=lambda known: known.key)
def test_that_each_thread_does_what_the_tile_says(known, block, border):
    case = Case("tile", 7, 10, mask_shape=(3, 4), anchor=(0, 3), block=block, border=border)
    case = suited(known, case)
    problem, mask, image, tiles = described(known, case)
    trace = []
    count(known, problem, mask, case.block, image, trace)
    found = accesses(trace, len(next(iter(tiles.values()))))
    results = [Counter() for _ in found]
    for at, plans in tiles.items():
        for number, plan in enumerate(plans):
            did, wanted = found[number][at], said(plan)
            for name in ("kept", "read", "direct", "stored"):
                assert dict(getattr(did, name)) == dict(getattr(wanted, name)), (at, number, name)
            results[number].update(zip(plan.result_rows.flat, plan.result_columns.flat, strict=True))
    # Every result has one block, and each pass its own.
    everywhere = Counter(product(range(problem.height), range(problem.width)))
    assert results == [everywhere] * len(results)


OWN_BLOCKS = [known for known in KERNELS if not known.uses_block]
# (rows, columns, channels), sides of the mask, type. Rows of the padded picture begin on 16 bytes.
EMITTED = {
    "small": ((9, 45, 1), (3, 5), "float32"),
    "several blocks": ((18, 141, 1), (5, 4), "float32"),
    "channels": ((10, 45, 3), (3, 4), "float32"),
    "two steps": ((36, 13, 1), (7, 7), "float32"),
    "large": ((10, 29, 1), (9, 8), "float32"),
    "ring": ((18, 29, 1), (30, 3), "float32"),
    "long": ((24, 29, 1), (40, 3), "float32"),
    "bytes": ((12, 269, 1), (4, 5), "uint8"),
    "bytes of channels": ((18, 45, 3), (3, 3), "uint8"),
}


def case_of(known, sort, border):
    """Return the case of a sort as a variant takes it; None where it takes no such picture or mask."""
    (height, width, channels), sides, dtype = EMITTED[sort]
    anchor, is_quantised = (sides[0] - 1, 1), dtype == "uint8"
    case = Case("tile", height, width, channels, dtype, sides, anchor, border, block=known.default_block)
    case = suited(known, replace(case, is_quantised=is_quantised))
    if case is None or (case.dtype, case.channels, case.is_quantised) != (dtype, channels, is_quantised):
        return None
    return case


def emitted_cases():
    """Yield each variant with each sort that it takes, the borders in turn; the first one is quick."""
    # Sums of three products have the code of those of two, and one more product.
    asked = [known for known in OWN_BLOCKS if known.rank <= 2]
    pairs = [(known, sort) for known in asked for sort in EMITTED if case_of(known, sort, Border.ZERO)]
    sorts, borders = [*EMITTED], (Border.ZERO, Border.MIRROR)
    for known, sort in pairs:
        # Each variant has both borders, and each sort, too, by one variant or another.
        first = (OWN_BLOCKS.index(known) + sorts.index(sort)) % 2
        is_alone = sum(other is known for other, _ in pairs) == 1
        marks = () if (known, sort) == pairs[0] else pytest.mark.slow
        for border in borders if is_alone else borders[first : first + 1]:
            yield pytest.param(known, sort, border, id=f"{known.key}-{sort}-{border}", marks=marks)


@pytest.mark.parametrize(("known", "sort", "border"), [*emitted_cases()])
def test_that_kernels_with_blocks_of_their_own_load_what_the_tile_says(known, sort, border):
    (height, width, channels), *_ = EMITTED[sort]
    case = case_of(known, sort, border)
    problem, mask, image, tiles = described(known, case)
    plans = [plan for group in tiles.values() for plan in group]
    trace = []
    count(known, problem, mask, case.block, image, trace)
    (found,) = accesses(trace, 1, channels)
    results = Counter()
    for plan in plans:
        did, wanted = found[plan.at], said(plan)
        # Of strips, each of a block's is another warp's.
        for thread in wanted.kept:
            # Sums that replace samples come from no cell; nor do ghost cells.
            drawn = [source for source in wanted.kept[thread] if source is not None]
            loaded = [source for source in did.kept[thread] if source is not None]
            assert loaded[: len(drawn)] == drawn, (plan.at, thread)
            assert len(loaded) == len(drawn) or plan.cut_rows
        # In plain Python the first of four lanes does what tensor cores share among them.
        alone = 4 if known is digit_sums.VARIANT else 1
        stored = defaultdict(set)
        for (x, y, z), own in wanted.stored.items():
            stored[x - x % alone, y, z] |= own
        for thread, own in stored.items():
            assert own <= did.stored[thread]
            assert own == did.stored[thread] or plan.cut_rows
        results.update(zip(plan.result_rows.flat, plan.result_columns.flat, strict=True))
        assert not plan.cut_rows or plan.shape[0] > 60
    if not any(plan.cut_rows for plan in plans):
        assert results == Counter(product(range(height), range(width * channels)))


def test_that_every_kernel_with_shared_memory_says_who_loads_what():
    silent = []
    for known in KERNELS:
        mask = mask_for(known, 3, 5)
        problem = typed(known, describe_problem(np.zeros((40, 200, 1), np.float32), mask, "zero", 0.0))
        has_tile = any(launch.shared_bytes for launch in known.plan(problem, known.default_block))
        if has_tile and not known.tiles(problem, known.default_block, (0, 0)):
            silent.append(known.key)
    assert silent == []
