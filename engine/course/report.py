"""The tables of the 2-D convolution report: times, speed-ups, sensitivity to the block, overhead, GFLOPs.

Printed values are those of Gregory Matthews and Mark Klobukov, "CUDA Assignment 3: 2D Convolution", Drexel University
ECEC-622, 2017, section Results; what is wrong in them stands as it is printed, with a note.
"""

import itertools

from engine.course.cells import counted, measured, named, ratio, significant
from engine.course.paper import CourseTable
from engine.course.papers import REPORT, REPORT_MASK
from engine.course.runs import FilterRun, Results, Run
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask
from engine.tasks.filtering.problem import Problem
from engine.variants.registry import variant

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


def _mask() -> Mask:
    return resolve_mask(REPORT_MASK)


def _run(key: str, size: int, side: int = 0) -> FilterRun:
    """Return the run of a variant; the serial one has no block."""
    return FilterRun(
        variant=key, mask=_mask(), width=size, height=size, block=Block(side, side) if side else None
    )


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what the tables need: the serial loops once a size, both kernels with every block."""
    kernels = [
        [_run(SERIAL, size), *(_run(key, size, side) for key in (NAIVE, OPTIMIZED) for side in BLOCKS)]
        for size in sizes or SIZES
    ]
    return tuple(itertools.chain.from_iterable(kernels))


def tables(results: Results, sizes: tuple[int, ...] | None) -> tuple[CourseTable, ...]:
    """Return the paper's tables with what there is."""
    wanted = sizes or SIZES
    return (
        _times(results, wanted),
        _changes(results, wanted, REPORT.tables[1], NAIVE, PRINTED_CHANGES_NAIVE),
        _changes(results, wanted, REPORT.tables[2], OPTIMIZED, PRINTED_CHANGES_OPTIMIZED),
        _overhead(results, wanted),
        _gflops(results, wanted),
    )


def _seconds(results: Results, run: Run) -> float | None:
    milliseconds = results.value(run, "kernel_ms")
    return None if milliseconds is None else milliseconds / 1e3


def _size(size: int) -> str:
    return f"{size}x{size}"


def _times(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size, side in itertools.product(sizes, BLOCKS):
        printed = PRINTED_TIMES.get((size, side), ("",) * 5)
        ran = [_run(SERIAL, size), _run(NAIVE, size, side), _run(OPTIMIZED, size, side)]
        seconds = [_seconds(results, run) for run in ran]
        times = [measured(s, results.of(run), p) for s, p, run in zip(seconds, printed, ran, strict=False)]
        speed_ups = [
            measured(ratio(seconds[0], seconds[i]), results.first_fault(ran[0], ran[i]), printed[2 + i])
            for i in (1, 2)
        ]
        rows.append((*named(_size(size), str(side)), *times, *speed_ups))
    return CourseTable(
        REPORT.tables[0],
        (
            "Matrix Size",
            "Thread-block size",
            "Time Serial (s)",
            "Time naïve (s)",
            "Time optimized (s)",
            "Speedup Naïve",
            "Speedup Optimized",
        ),
        tuple(rows),
        (
            "Kernel times here are medians: device events around many launches. The paper's are one launch by the "
            "host's clock (gettimeofday).",
            "The serial time does not depend on the block: it is measured once a size and stands in three rows.",
            f"The mask is {REPORT_MASK} here; the paper does not print its weights, and time does not depend on them.",
            "The paper's naïve kernel gives a warp a column (uncoalesced loads), and slows down with larger blocks; "
            "`naive` gives it a row. Optimized is `cached` here, with the mask in global memory.",
            'The paper says "higher ... by a factor of about 3.5"; its own times give 2.2 to 4.3, 3.2 on average.',
        ),
    )


def _changes(
    results: Results,
    sizes: tuple[int, ...],
    title: str,
    key: str,
    printed: dict[tuple[int, int], tuple[str, str]],
) -> CourseTable:
    rows = []
    for size, (small, large) in itertools.product(sizes, itertools.pairwise(BLOCKS)):
        ran = _run(key, size, small), _run(key, size, large)
        before, after = (_seconds(results, run) for run in ran)
        change = None if before is None or after is None else after - before
        fault = results.first_fault(*ran)
        total, each = printed.get((size, small), ("", ""))
        # An extra thread of the paper is one more along each side; the block really gains large^2 - small^2.
        rows.append(
            (
                *named(_size(size), f"{small}->{large}"),
                measured(change, fault, total),
                measured(ratio(change, large - small), fault, each),
                measured(ratio(change, large**2 - small**2), fault),
            )
        )
    return CourseTable(
        title,
        (
            "Matrix Size",
            "Change in # threads in a block",
            "Total change in Time (s)",
            "Change in Time per Extra thread in a block (s)",
            "Change in Time per real extra thread (s)",
        ),
        tuple(rows),
        (
            "The paper divides by the change of the block's side (8->16: 8, 16->32: 16). A block of 8 x 8 that becomes "
            "16 x 16 gains 192 threads, one of 16 x 16 that becomes 32 x 32 gains 768: the last column.",
            *_misprints(printed),
        ),
    )


def _misprints(printed: dict[tuple[int, int], tuple[str, str]]) -> tuple[str, ...]:
    """Return a note for each printed change per thread that is not the printed change divided by that of the side."""
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
        printed = PRINTED_OVERHEAD.get(size, ("",) * 4)
        overheads, fractions = [], []
        for number, key in enumerate((NAIVE, OPTIMIZED)):
            run = _run(key, size, OVERHEAD_BLOCK)
            overhead, kernel = results.value(run, "overhead_ms"), results.value(run, "kernel_ms")
            fault = results.of(run)
            overheads.append(measured(ratio(overhead, 1e3), fault, printed[number]))
            fractions.append(measured(ratio(overhead, kernel), fault, printed[2 + number]))
        rows.append((*named(_size(size)), *overheads, *fractions))
    return CourseTable(
        REPORT.tables[3],
        (
            "Matrix Size",
            "Overhead Naïve (s)",
            "Overhead Optimized (s)",
            "Fraction of Run Time Naïve",
            "Fraction of Run Time Optimized",
        ),
        tuple(rows),
        (
            "Overhead here: allocation of picture and result, the copy in and the copy out (medians). Freeing is not in "
            "it, nor is starting CUDA: the paper's overhead hardly depends on the size, as a cost that is paid once would.",
            "Fraction of run time is overhead / kernel time, so it can be more than 1.",
            f"The paper's fractions are of the times with blocks of {OVERHEAD_BLOCK}, and so are those here; but its "
            "46.207 is of the naïve time with blocks of 32: 0.0268 / 0.00058. With blocks of 8 it would be 66.667.",
        ),
    )


def _gflops(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size in sizes:
        printed = PRINTED_GFLOPS.get(size, ("",) * 3)
        operations = _operations(size)
        by_formula, as_usual = [], []
        for number, key in enumerate((NAIVE, OPTIMIZED)):
            run = _run(key, size, GFLOPS_BLOCK)
            rate = ratio(operations / 1e9, _seconds(results, run))
            by_formula.append(measured(rate, results.of(run), printed[1 + number]))
            as_usual.append(measured(None if rate is None else 2 * rate, results.of(run)))
        rows.append((*named(str(size)), counted(operations, printed[0]), *by_formula, *as_usual))
    return CourseTable(
        REPORT.tables[4],
        (
            "Matrix Dimension",
            "# FP operations",
            "GFLOPs naïve",
            "GFLOPs optimized",
            "GFLOPs naïve, multiply and add as two",
            "GFLOPs optimized, multiply and add as two",
        ),
        tuple(rows),
        (
            "The paper's formula is (# elements in mask) x (# elements in input matrix) / 10^9: it leaves out the "
            "division by the time, which its table has, and counts a multiply-add as one operation. The usual count is "
            "two: the last columns.",
            f"The paper's GFLOPs are of the times with blocks of {GFLOPS_BLOCK} (6553600 / 0.00046 s = 14.247), and so "
            "are those here. Ghost cells count as well.",
            'The paper says "almost three-fold"; its numbers give 3.6, 2.9 and 2.7.',
        ),
    )


def _operations(size: int) -> int:
    """Return the multiply-adds, from the kernel's own model of work."""
    mask = _mask()
    problem = Problem(size, size, mask_shape=mask.shape, anchor=mask.anchor)
    return variant(NAIVE).work(problem, Block(GFLOPS_BLOCK, GFLOPS_BLOCK)).flops // 2
