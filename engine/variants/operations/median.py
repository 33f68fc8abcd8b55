"""Median: each sample becomes the middle one of its neighbourhood; single wrong samples vanish.

Sorting networks compare three and five numbers in a fixed order, with no branch and no array. With rows and
columns of a window sorted, its middle one is among few cells:

    3 x 3    the highest of the lowest row, the middle of the middle row, the lowest of the highest row:
             the middle of these three
    5 x 5    the highest of four cells below the anti-diagonal (0, 3), (1, 2), (2, 1), (3, 0); the middle of
             the five on it; the lowest of the four above it: the middle of these three

Source of the idea: Kolte, Smith, Su, "A fast median filter using AltiVec", ICCD 1999. That the cells are the
right ones follows by the zero-one principle from the 252 sorted 5 x 5 matrices of zeros and ones, which a
test tries.
"""

import math
from typing import TypeVar

import numpy as np

from engine.compiled.late_names import njit
from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, cuda_rule, float32, jit_for
from engine.geometry.block import FLOAT_BYTES, Block
from engine.geometry.border import Border
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant, put_nan
from engine.work.operations import contract
from engine.work.problem import OperationProblem

N = TypeVar("N", int, float)
BORDER = Border.REPLICATE


def _middle(cells: contract.Floats, problem: OperationProblem) -> contract.Floats:
    """Return the middle of each sorted window; a window with NaN has the result NaN."""
    ordered = np.sort(cells.reshape(*cells.shape[:3], -1), axis=3)
    middle: contract.Floats = ordered[..., ordered.shape[3] // 2].copy()
    # NumPy sorts NaN to the end.
    middle[np.isnan(ordered[..., -1])] = np.nan
    return middle


def middle_of_3(a: N, b: N, c: N) -> N:
    """Return the middle one."""
    return max(min(a, b), min(max(a, b), c))


def sorted_3(a: N, b: N, c: N) -> tuple[N, N, N]:
    """Return three numbers in order."""
    a, b = min(a, b), max(a, b)
    b, c = min(b, c), max(b, c)
    a, b = min(a, b), max(a, b)
    return a, b, c


def sorted_5(a: N, b: N, c: N, d: N, e: N) -> tuple[N, N, N, N, N]:
    """Return five numbers in order, by nine comparisons."""
    a, b = min(a, b), max(a, b)
    d, e = min(d, e), max(d, e)
    c, e = min(c, e), max(c, e)
    c, d = min(c, d), max(c, d)
    a, d = min(a, d), max(a, d)
    a, c = min(a, c), max(a, c)
    b, e = min(b, e), max(b, e)
    b, d = min(b, d), max(b, d)
    b, c = min(b, c), max(b, c)
    return a, b, c, d, e


# Comparisons (a minimum and a maximum each) of a result, where sorted columns serve several and where not.
CPU_COMPARISONS, COMPARISONS = {3: 10, 5: 75}, {3: 20, 5: 112}


@CpuCode
def cpu_code(size):
    """`cpu-median`: a sorting network along whole rows, on all cores.

    Idea
        For each row, the 3 or 5 rows around it are copied to lines with their ends repeated. The lines are
        sorted against one another, column by column; then the network runs across neighbouring columns. Both
        loops have no branch, so the compiler makes vectors of them.
    What it saves
        Each sorted column serves 3 or 5 results; no window is ever sorted by itself.
    Limit
        25 samples cost some 60 comparisons twice: arithmetic, not memory.
    """
    middle_3, in_order_3, in_order_5 = (
        njit(forceinline=True)(function) for function in (middle_of_3, sorted_3, sorted_5)
    )
    half = size // 2

    @njit
    def fill(image, row, channels, lines):
        """Fill the lines with the rows around a row, their ends repeated; return whether they have NaN."""
        height, samples = image.shape
        edge = half * channels
        has_nan = False
        # As many as `size`; the compiler would write the loop as often.
        for m in range(lines.shape[0]):
            source, line = image[min(max(row + m - half, 0), height - 1)], lines[m]
            for sample in range(samples):
                line[edge + sample] = np.float32(source[sample])
            for step in range(edge):
                channel = step % channels
                line[step] = np.float32(source[channel])
                line[edge + samples + step] = np.float32(source[samples - channels + channel])
            for sample in range(samples + 2 * edge):
                has_nan |= line[sample] != line[sample]
        return has_nan

    def median_rows(image, out, top, bottom, worker, channels, all_lines, is_float):
        lines, samples = all_lines[worker], image.shape[1]
        for row in range(top, bottom):
            has_nan = fill(image, row, channels, lines)
            a, b, c = lines[0], lines[1], lines[2]
            if size == 3:
                for at in range(samples + 2 * channels):
                    a[at], b[at], c[at] = in_order_3(a[at], b[at], c[at])
                for at in range(samples):
                    mid, far = at + channels, at + 2 * channels
                    low = max(a[at], max(a[mid], a[far]))
                    middle = middle_3(b[at], b[mid], b[far])
                    high = min(c[at], min(c[mid], c[far]))
                    out[row, at] = middle_3(low, middle, high)
            else:
                d, e = lines[3], lines[4]
                for at in range(samples + 4 * channels):
                    a[at], b[at], c[at], d[at], e[at] = in_order_5(a[at], b[at], c[at], d[at], e[at])
                for at in range(samples):
                    v, w, x, y = at + channels, at + 2 * channels, at + 3 * channels, at + 4 * channels
                    r0 = in_order_5(a[at], a[v], a[w], a[x], a[y])
                    r1 = in_order_5(b[at], b[v], b[w], b[x], b[y])
                    r2 = in_order_5(c[at], c[v], c[w], c[x], c[y])
                    r3 = in_order_5(d[at], d[v], d[w], d[x], d[y])
                    r4 = in_order_5(e[at], e[v], e[w], e[x], e[y])
                    low = max(max(r0[3], r1[2]), max(r2[1], r3[0]))
                    middle = in_order_5(r0[4], r1[3], r2[2], r3[1], r4[0])[2]
                    high = min(min(r1[4], r2[3]), min(r3[2], r4[1]))
                    out[row, at] = middle_3(low, middle, high)
            if is_float and has_nan:
                put_nan(image, row, half, channels, out)

    return median_rows


CPU = cpu_code.variant(
    lambda problem, patch: cpu_code.bands(
        problem,
        CPU_COMPARISONS[problem.whole("size")] * problem.width * problem.channels // 4,
        lambda workers: (
            problem.channels,
            # Room for the columns of windows of 5 x 5; those of 3 x 3 leave some unused.
            np.zeros((workers, problem.whole("size"), (problem.width + 4) * problem.channels), np.float32),
            problem.is_float,
        ),
        (problem.whole("size"),),
    ),
    key="cpu-median",
    idea="Columns sorted along whole rows, then a network across them, in vectors, on all cores.",
    # Each sample is loaded once for each row of the window, the rest is in a cache.
    work=lambda problem, block: contract.operation_work(
        problem,
        picture_loads=problem.whole("size") * problem.samples,
        flops=CPU_COMPARISONS[problem.whole("size")] * problem.samples,
    ),
)


@kernel_factory
def naive_kernel(size: int):
    """`median-naive`: a thread per sample that counts, for each cell of its window, how many are below it.

    Idea
        The middle of n cells is the one that has at most n / 2 cells below it and, with those equal to it,
        more than n / 2. A thread tries every cell of its window: no sorting and no array, which would lie in
        local memory.
    Who loads what
        Each thread loads its n cells, for each of them all n again, and all once more for NaN, from global
        memory: 99 loads for 3 x 3, 675 for 5 x 5. Neighbours ask for the same cells; only L1 and L2 know.
    Limit
        n squared loads and comparisons.

    Source: COSC 407, "CUDA Memories and Performance Revisited", noise reduction.
    """
    rule = cuda_rule(BORDER)
    SIZE, HALF, MIDDLE = size, size // 2, size * size // 2

    @cuda.jit
    def median_naive(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        median = float32(0.0)
        for m in range(SIZE):
            for n in range(SIZE):
                at_row, at_column = rule(row + m - HALF, height), rule(column + n - HALF, width)
                cell = float32(image[at_row, at_column, channel])
                below = equal = 0
                for i in range(SIZE):
                    other_row = rule(row + i - HALF, height)
                    for j in range(SIZE):
                        other = float32(image[other_row, rule(column + j - HALF, width), channel])
                        if other < cell:
                            below += 1
                        if other == cell:
                            equal += 1
                if below <= MIDDLE and below + equal > MIDDLE:
                    median = cell
        # A window with NaN has no middle: NaN equals nothing, itself neither.
        for m in range(SIZE):
            at_row = rule(row + m - HALF, height)
            for n in range(SIZE):
                cell = float32(image[at_row, rule(column + n - HALF, width), channel])
                if cell != cell:
                    median = cell
        out[row, column, channel] = median

    return median_naive


NAIVE = cuda_variant(
    OperationLaunch(lambda problem, block: naive_kernel(problem.whole("size"))),
    # 2 n + n squared loads and n squared comparisons for each sample, of n cells.
    work=lambda problem, block: contract.operation_work(
        problem,
        picture_loads=problem.samples * (2 * problem.whole("size") ** 2 + problem.whole("size") ** 4),
        flops=problem.samples * problem.whole("size") ** 4,
    ),
    key="median-naive",
    title="Counting",
    idea="A thread per sample counts for each cell of its window how many are below it: no array, n² loads.",
)


@kernel_factory
def local_kernel(size: int):
    """`median-local`: a thread sorts its window in an array of its own, which lies in local memory.

    Idea
        A thread copies its 9 or 25 cells to an array and sorts it by insertion until the middle is known.
        Which cells it moves depends on the samples, so that an index is known at run time only; registers
        have no index. The compiler puts such an array into local memory: a part of the device's memory that
        is the thread's alone, kept in L1 and L2 as other memory is.
    Who loads what
        Each thread loads each of its cells from global memory once, and then loads and stores its array: up
        to n (n - 1) / 2 moves of n cells.
    What it saves
        Against `median-naive`: n loads instead of n squared from the picture. What it costs is local memory:
        the name says whose it is, not where it lies.
    Limit
        Threads of a warp take different numbers of steps and wait for the longest. `median-tiled` sorts by a
        network instead, whose indices are all known when it is compiled, so that it needs registers alone.

    Source: COSC 407, "CUDA Memories and Performance Revisited", "Typical Structure of a CUDA Program": "auto
    variables transparently assigned: primitives -> registers. Arrays -> local mem".
    """
    rule = cuda_rule(BORDER)
    SIZE, HALF, CELLS = size, size // 2, size * size

    @cuda.jit
    def median_local(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        window = cuda.local.array(CELLS, float32)
        strange = float32(0.0)
        for number in range(CELLS):
            m = number // SIZE
            at_row = rule(row + m - HALF, height)
            cell = float32(image[at_row, rule(column + number - m * SIZE - HALF, width), channel])
            if cell != cell:
                strange = cell
            # Insertion: larger cells move up until there is room.
            slot = number
            while slot > 0 and window[slot - 1] > cell:
                window[slot] = window[slot - 1]
                slot -= 1
            window[slot] = cell
        median = window[CELLS // 2]
        # A window with NaN has no middle.
        if strange != strange:
            median = strange
        out[row, column, channel] = median

    return median_local


LOCAL = cuda_variant(
    OperationLaunch(lambda problem, block: local_kernel(problem.whole("size"))),
    # n loads of a sample's window, and at most n (n - 1) / 2 comparisons of its cells. Loads and stores of
    # local memory are not in it: how many there are depends on the samples.
    work=lambda problem, block: contract.operation_work(
        problem,
        picture_loads=problem.samples * problem.whole("size") ** 2,
        flops=problem.samples * math.comb(problem.whole("size") ** 2, 2),
    ),
    key="median-local",
    title="Sorting, local",
    idea="A thread sorts its window in an array with indices known at run time only: the compiler puts it "
    "into local memory.",
    uses_local_memory=True,
)


def tiled_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each block loads and stores its tile; each sample reads its window from it."""
    size, launch = problem.whole("size"), TILED_STEP.launch(problem, block)
    cells = launch.blocks * launch.shared_bytes // FLOAT_BYTES
    return contract.operation_work(
        problem,
        picture_loads=cells,
        flops=COMPARISONS[size] * problem.samples,
        shared_stores=cells,
        shared_loads=problem.samples * size * size * (2 if problem.is_float else 1),
    )


@kernel_factory
def tiled_kernel(size: int, block: Block, has_nan: bool):
    """`median-tiled`: the block's tile in shared memory, and a sorting network in registers.

    Idea
        The block copies its cells and a halo of 1 or 2 cells to shared memory. Each thread sorts the columns
        of its window, then what that leaves of the rows, by minima and maxima in a fixed order: no branch, no
        index that depends on a sample, so everything stays in registers.
    Who loads what
        Each cell of the tile is loaded from global memory once, cell by cell, by threads side by side. A
        thread reads its 9 or 25 cells from shared memory, those of float32 twice: the first time for NaN.
    What it saves
        Against `median-naive`: 675 loads from global memory become 1.7 (5 x 5, a block of 32 x 8), and 625
        comparisons some 100.
    Limit
        Each thread sorts its own columns, though its neighbours sort four of the same five.

    Source: COSC 407, "CUDA Memories and Performance Revisited", noise reduction and tiling.
    """
    rule = cuda_rule(BORDER)
    middle, order, order_5 = (
        cuda.jit(device=True, inline="always")(function) for function in (middle_of_3, sorted_3, sorted_5)
    )
    SIZE, HALF, BLOCK_X, BLOCK_Y, HAS_NAN = size, size // 2, block.x, block.y, has_nan
    TILE_X, TILE_Y = block.x + size - 1, block.y + size - 1

    @jit_for(block.threads)
    def median_tiled(image, width, out):
        tile = cuda.shared.array((TILE_Y, TILE_X), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        channel, height = cuda.blockIdx.z, image.shape[0]
        left, top = cuda.blockIdx.x * BLOCK_X, cuda.blockIdx.y * BLOCK_Y
        for i in range(y, TILE_Y, BLOCK_Y):
            source = rule(top + i - HALF, height)
            for j in range(x, TILE_X, BLOCK_X):
                tile[i, j] = float32(image[source, rule(left + j - HALF, width), channel])
        # No thread may read a cell before it is stored.
        cuda.syncthreads()

        if top + y < height and left + x < width:
            if SIZE == 3:
                a = order(tile[y, x], tile[y + 1, x], tile[y + 2, x])
                b = order(tile[y, x + 1], tile[y + 1, x + 1], tile[y + 2, x + 1])
                c = order(tile[y, x + 2], tile[y + 1, x + 2], tile[y + 2, x + 2])
                low = max(a[0], max(b[0], c[0]))
                high = min(a[2], min(b[2], c[2]))
                result = middle(low, middle(a[1], b[1], c[1]), high)
            else:
                a = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
                x += 1
                b = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
                x += 1
                c = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
                x += 1
                d = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
                x += 1
                e = order_5(tile[y, x], tile[y + 1, x], tile[y + 2, x], tile[y + 3, x], tile[y + 4, x])
                x -= 4
                p = order_5(a[0], b[0], c[0], d[0], e[0])
                q = order_5(a[1], b[1], c[1], d[1], e[1])
                r = order_5(a[2], b[2], c[2], d[2], e[2])
                s = order_5(a[3], b[3], c[3], d[3], e[3])
                t = order_5(a[4], b[4], c[4], d[4], e[4])
                low = max(max(p[3], q[2]), max(r[1], s[0]))
                high = min(min(q[4], r[3]), min(s[2], t[1]))
                result = middle(low, order_5(p[4], q[3], r[2], s[1], t[0])[2], high)
            if HAS_NAN:
                for i in range(SIZE):
                    for j in range(SIZE):
                        cell = tile[y + i, x + j]
                        if cell != cell:
                            result = cell
            out[top + y, left + x, channel] = result

    return median_tiled


TILED_STEP = OperationLaunch(
    lambda problem, block: tiled_kernel(problem.whole("size"), block, problem.is_float),
    shared_bytes=lambda problem, block: (
        (block.y + problem.whole("size") - 1) * (block.x + problem.whole("size") - 1) * FLOAT_BYTES
    ),
)

TILED = cuda_variant(
    TILED_STEP,
    work=tiled_work,
    key="median-tiled",
    title="Sorting, tiled",
    idea="The block loads its tile once; each thread finds the middle by a sorting network in registers.",
)

PARAMETERS = (
    contract.Parameter("size", "Size",
              "Side of the square neighbourhood, 3 or 5. Cells outside the picture repeat the nearest one.",
              3, choices=(3, 5)),
)  # fmt: skip

MEDIAN = contract.Operation(
    key="median",
    title="Noise reduction (median)",
    teaches="The middle of 9 or 25 samples removes salt and pepper and keeps edges; a block's shared tile "
    "serves each sample to 9 or 25 threads, and a sorting network needs no branches.",
    window=contract.half_size,
    parameters=PARAMETERS,
    of_cells=contract.OfCells(contract.rising(_middle), scales=True, exact=True),
    cost=100,
    proof="The middle one is one of the samples: it must be equal.",
    variants=(CPU, NAIVE, LOCAL, TILED),
)
