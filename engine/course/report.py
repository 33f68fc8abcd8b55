"""The tables of the 2-D convolution report: times, speed-ups, sensitivity to the block, overhead, GFLOPs.

Printed values are those of Gregory Matthews and Mark Klobukov, "CUDA Assignment 3: 2D Convolution", Drexel
University ECEC-622, 2017, section Results; errors in them are kept as printed, with a note.
"""

import itertools

from engine.course.cells import Quantity, Value, course_table, row, significant
from engine.course.paper import CourseTable
from engine.course.papers import paper
from engine.course.runs import FilterRun, Results, Run
from engine.geometry.block import Block
from engine.mask.resolve import resolve_mask
from engine.tasks.filtering.problem import Problem
from engine.variants.registry import variant

REPORT = paper("report")
MASK = REPORT.kernels[0].here.mask
SIZES = (512, 1024, 2048)
BLOCKS = (8, 16, 32)
SERIAL, NAIVE, OPTIMIZED = "cpu-serial", "naive", "cached"

# (size, block): serial (s), naive (s), optimized (s), speed-up naive, speed-up optimized.
PRINTED_TIMES = {
    (512, 8): ("0.018511", "0.000402", "0.000131", "46.047", "141.305"),
    (512, 16): ("0.018466", "0.00046", "0.000129", "40.143", "143.147"),
    (512, 32): ("0.018533", "0.00058", "0.000134", "31.953", "138.306"),
    (1024, 8): ("0.061675", "0.001097", "0.000463", "56.222", "133.207"),
    (1024, 16): ("0.061594", "0.001327", "0.000462", "46.416", "133.320"),
    (1024, 32): ("0.061562", "0.001755", "0.000465", "35.078", "132.391"),
    (2048, 8): ("0.202808", "0.003839", "0.001765", "52.828", "114.905"),
    (2048, 16): ("0.21312", "0.004747", "0.001746", "44.896", "122.062"),
    (2048, 32): ("0.198834", "0.006477", "0.001767", "30.698", "112.526"),
}

# (size, smaller block): total change (s), change per extra thread (s).
PRINTED_CHANGES_NAIVE = {
    (512, 8): ("0.000058", "0.0000725"),
    (512, 16): ("0.00012", "0.0000075"),
    (1024, 8): ("0.00023", "0.00002875"),
    (1024, 16): ("0.000428", "0.00002675"),
    (2048, 8): ("0.000908", "0.0001135"),
    (2048, 16): ("0.00173", "0.000108125"),
}
PRINTED_CHANGES_OPTIMIZED = {
    (512, 8): ("-0.0000020", "-0.0000002500"),
    (512, 16): ("0.0000050", "0.0000003125"),
    (1024, 8): ("-0.0000010", "-0.000001250"),
    (1024, 16): ("0.0000030", "0.000001875"),
    (2048, 8): ("-0.0000190", "-0.0000023750"),
    (2048, 16): ("0.0000210", "0.0000013125"),
}

# size: overhead naive (s), overhead optimized (s), fraction naive, fraction optimized.
PRINTED_OVERHEAD = {
    512: ("0.0268", "0.02678", "46.207", "204.427"),
    1024: ("0.02651", "0.02649", "24.166", "57.214"),
    2048: ("0.02525", "0.02523", "6.577", "14.295"),
}

# size: FP operations, GFLOPs naive, GFLOPs optimized.
PRINTED_GFLOPS = {
    512: ("6553600", "14.2470", "50.8031"),
    1024: ("26214400", "19.7546", "56.7411"),
    2048: ("104857600", "22.0892", "60.0559"),
}
# The block whose times the paper's GFLOPs come from, and that of its overhead's fractions (but one).
GFLOPS_BLOCK, OVERHEAD_BLOCK = 16, 8


def _run(key: str, size: int, side: int = 0) -> FilterRun:
    """Return the run of a variant; the serial one has no block."""
    block = Block(side, side) if side else None
    return FilterRun(variant=key, mask=resolve_mask(MASK), width=size, height=size, block=block)


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what the tables need: the serial loops once per size, both kernels with every block."""
    kernels = [
        [_run(SERIAL, size), *(_run(key, size, side) for key in (NAIVE, OPTIMIZED) for side in BLOCKS)]
        for size in sizes or SIZES
    ]
    return tuple(itertools.chain.from_iterable(kernels))


def tables(results: Results, sizes: tuple[int, ...] | None) -> tuple[CourseTable, ...]:
    """Return the paper's tables, as far as there are results."""
    wanted = sizes or SIZES
    return (
        _times(results, wanted),
        _changes(results, wanted, 1, NAIVE, PRINTED_CHANGES_NAIVE),
        _changes(results, wanted, 2, OPTIMIZED, PRINTED_CHANGES_OPTIMIZED),
        _overhead(results, wanted),
        _gflops(results, wanted),
    )


def _seconds(results: Results, run: Run) -> Quantity:
    return results.value(run) / 1e3


def _times(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size, side in itertools.product(sizes, BLOCKS):
        runs = _run(SERIAL, size), _run(NAIVE, size, side), _run(OPTIMIZED, size, side)
        serial, naive, optimized = (_seconds(results, run) for run in runs)
        values = serial, naive, optimized, serial / naive, serial / optimized
        rows.append(row((_size(size), side), values, PRINTED_TIMES.get((size, side), ())))
    return course_table(
        REPORT,
        0,
        "Matrix Size | Thread-block size | Time Serial (s) | Time naïve (s) | Time optimized (s) | "
        "Speedup Naïve | Speedup Optimized",
        rows,
        "Kernel times here are medians: device events around many launches. The paper's are one launch by "
        "the host's clock (gettimeofday).",
        "The serial time does not depend on the block: it is measured once per size and stands in three "
        "rows.",
        f"The mask is {MASK} here; the paper does not print its weights, and time does not depend on them.",
        "The threads of a warp go down a column in the paper's naïve kernel (uncoalesced loads), and larger "
        "blocks slow it down; in `naive` they go along a row. Optimized is `cached` here, with the mask in "
        "global memory.",
        'The paper says "higher ... by a factor of about 3.5"; its times give 2.2 to 4.3, on average 3.2.',
    )


def _changes(
    results: Results,
    sizes: tuple[int, ...],
    number: int,
    key: str,
    printed: dict[tuple[int, int], tuple[str, str]],
) -> CourseTable:
    rows = []
    for size, (small, large) in itertools.product(sizes, itertools.pairwise(BLOCKS)):
        change = _seconds(results, _run(key, size, large)) - _seconds(results, _run(key, size, small))
        # The paper counts one extra thread per step of the side; the block really gains large^2 - small^2.
        values = change, change / (large - small), change / (large**2 - small**2)
        rows.append(row((_size(size), f"{small}->{large}"), values, printed.get((size, small), ())))
    return course_table(
        REPORT,
        number,
        "Matrix Size | Change in # threads in a block | Total change in Time (s) | "
        "Change in Time per Extra thread in a block (s) | Change in Time per real extra thread (s)",
        rows,
        "The paper divides by the change of the block's side (8->16: 8, 16->32: 16). A block of 8 x 8 that "
        "becomes 16 x 16 gains 192 threads, one of 16 x 16 that becomes 32 x 32 gains 768: the last column.",
        *_misprints(printed),
    )


def _misprints(printed: dict[tuple[int, int], tuple[str, str]]) -> tuple[str, ...]:
    """Return a note for each printed change per thread that is not the total divided by that of the side."""
    notes = []
    for (size, side), (total, each) in printed.items():
        right = float(total) / side
        if abs(float(each) - right) > 1e-6 * abs(right):
            notes.append(
                f"Misprint in the paper: {_size(size)}, {side}->{2 * side}: {total} / {side} is "
                f"{significant(right, 6)}, printed is {each}."
            )
    return tuple(notes)


def _overhead(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size in sizes:
        runs = [_run(key, size, OVERHEAD_BLOCK) for key in (NAIVE, OPTIMIZED)]
        overheads = [results.value(run, "overhead_ms") for run in runs]
        fractions = [overhead / results.value(run) for overhead, run in zip(overheads, runs, strict=True)]
        values = *(overhead / 1e3 for overhead in overheads), *fractions
        rows.append(row((_size(size),), values, PRINTED_OVERHEAD.get(size, ())))
    return course_table(
        REPORT,
        3,
        "Matrix Size | Overhead Naïve (s) | Overhead Optimized (s) | Fraction of Run Time Naïve | "
        "Fraction of Run Time Optimized",
        rows,
        "Overhead here: allocation of picture and result, the copy in and the copy out (medians). It leaves "
        "out freeing and starting CUDA: the paper's overhead hardly depends on the size, as a cost that is "
        "paid once would.",
        "Fraction of run time is overhead / kernel time, so it can be more than 1.",
        f"The paper's fractions are of the times with blocks of {OVERHEAD_BLOCK}, and so are those here; but "
        "its 46.207 is of the naïve time with blocks of 32: 0.0268 / 0.00058. With blocks of 8 it would be "
        "66.667.",
    )


def _gflops(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size in sizes:
        operations = _operations(size)
        rates = [
            operations / 1e9 / _seconds(results, _run(key, size, GFLOPS_BLOCK)) for key in (NAIVE, OPTIMIZED)
        ]
        values: list[Value] = [operations, *rates, *(rate * 2 for rate in rates)]
        rows.append(row((size,), values, PRINTED_GFLOPS.get(size, ())))
    return course_table(
        REPORT,
        4,
        "Matrix Dimension | # FP operations | GFLOPs naïve | GFLOPs optimized | "
        "GFLOPs naïve, multiply and add as two | GFLOPs optimized, multiply and add as two",
        rows,
        "The paper's formula is (# elements in mask) x (# elements in input matrix) / 10^9: it leaves out "
        "the division by the time, which its table has, and counts a multiply-add as one operation. The "
        "usual count is two: the last columns.",
        f"The paper's GFLOPs are of the times with blocks of {GFLOPS_BLOCK} (6553600 / 0.00046 s = 14.247), "
        "and so are those here. Ghost cells count as well.",
        'The paper says "almost three-fold"; its numbers give 3.6, 2.9 and 2.7.',
    )


def _operations(size: int) -> int:
    """Return the multiply-adds, from the kernel's own model of work."""
    mask = resolve_mask(MASK)
    problem = Problem(size, size, mask_shape=mask.shape, anchor=mask.anchor)
    return variant(NAIVE).work(problem, Block(GFLOPS_BLOCK, GFLOPS_BLOCK)).flops // 2


def _size(size: int) -> str:
    return f"{size}x{size}"
