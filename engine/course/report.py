"""The tables of the 2-D convolution report: times, speed-ups, sensitivity to the block, overhead, GFLOPs."""

import itertools
from collections.abc import Iterator

from engine.course.paper import MISPRINT, CourseTable
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import (
    AllocationRun,
    FilterRun,
    Quantity,
    Results,
    Row,
    Run,
    StreamsRun,
    Tables,
    Value,
    course_table,
    filter_run,
    significant,
)
from engine.geometry.block import Block
from engine.mask.presets import resolve_mask
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

REPORT = paper("report")
MASK = REPORT.kernels[0].mask
SIZES = (512, 1024, 2048)
BLOCKS = (8, 16, 32)
SERIAL, NAIVE, OPTIMIZED = "cpu-serial", "naive-uncoalesced", "cached-constant"
# Whose requests are compared: the paper's kernel, not coalesced, and the same coalesced.
UNCOALESCED, COALESCED = NAIVE, "naive"
# Beside the paper's kernels: those with the paper's blocks, and the fastest, which has blocks of its own.
BESIDE, FASTEST = ("naive", "tiled"), "register-blocked"

# The block whose times the paper's GFLOPs come from, and that of its overhead's fractions (but one).
GFLOPS_BLOCK, OVERHEAD_BLOCK = 16, 8


def _run(key: str, size: int, side: int = 0) -> FilterRun:
    """Return the run of a variant; `side` is 0 for one that takes no block."""
    block = Block(side, side) if side else None
    return filter_run(variant=key, mask=resolve_mask(MASK), width=size, height=size, block=block)


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what the tables need: once per size what has no block, the kernels with every block."""
    kernels: list[list[Run]] = [
        [
            _run(SERIAL, size),
            *(_run(key, size, side) for key in (NAIVE, OPTIMIZED, *BESIDE) for side in BLOCKS),
            _run(FASTEST, size),
            AllocationRun(size),
            _streams(size),
        ]
        for size in sizes or SIZES
    ]
    return tuple(itertools.chain.from_iterable(kernels))


def tables(results: Results, sizes: tuple[int, ...] | None) -> Tables:
    """Return the paper's tables, as far as there are results."""
    wanted = sizes or SIZES
    return (
        _times(results, wanted),
        _changes(results, wanted, 1, NAIVE),
        _changes(results, wanted, 2, OPTIMIZED),
        _overhead(results, wanted),
        _gflops(results, wanted),
    )


def _seconds(results: Results, run: Run) -> Quantity:
    return results.value(run) / 1e3


def _times(results: Results, sizes: tuple[int, ...]) -> Iterator[Row]:
    for size, side in itertools.product(sizes, BLOCKS):
        runs = [_run(SERIAL, size), *(_run(key, size, side) for key in (NAIVE, OPTIMIZED, *BESIDE))]
        serial, naive, optimized, *beside = (_seconds(results, run) for run in (*runs, _run(FASTEST, size)))
        transactions = (results.transactions(_run(key, size, side)) for key in (UNCOALESCED, COALESCED))
        speedups = serial / naive, serial / optimized, naive / optimized
        values = serial, naive, optimized, *speedups, *beside, *transactions
        yield ((f"{size}x{size}", side), values)


def _changes(results: Results, sizes: tuple[int, ...], number: int, key: str) -> CourseTable:
    rows: list[Row] = []
    for size, (small, large) in itertools.product(sizes, itertools.pairwise(BLOCKS)):
        change = _seconds(results, _run(key, size, large)) - _seconds(results, _run(key, size, small))
        # The paper counts one extra thread per step of the side; the block really gains large^2 - small^2.
        values = change, change / (large - small), change / (large**2 - small**2)
        rows.append(((f"{size}x{size}", f"{small}->{large}"), values))
    # A note for each printed change per thread that is not the total divided by that of the side.
    notes = []
    for names, (total, each) in TABLE_TEXTS[REPORT][number].printed.items():
        side = int(names.partition(", ")[2].partition("->")[0])
        right = float(total) / side
        if abs(float(each) - right) > 1e-6 * abs(right):
            quotient = f"{total} / {side} is {significant(right, 6)}"
            notes.append(f"{MISPRINT} Misprint in the paper: {names}: {quotient}, printed is {each}.")
    return course_table(REPORT, number, rows, *notes)


def _streams(size: int) -> StreamsRun:
    """Return the run of the optimized kernel on streams."""
    return StreamsRun(_run(OPTIMIZED, size, OVERHEAD_BLOCK))


def _overhead(results: Results, sizes: tuple[int, ...]) -> Iterator[Row]:
    for size in sizes:
        runs = [_run(key, size, OVERHEAD_BLOCK) for key in (NAIVE, OPTIMIZED)]
        # Measured once, for both: which run finds memory that another one has left is chance.
        fresh = AllocationRun(size)
        memory = results.value(fresh, "allocate_ms") + results.value(fresh, "free_ms")
        copies = (results.value(run, "copy_in_ms") + results.value(run, "copy_out_ms") for run in runs)
        overheads = [of_run + memory for of_run in copies]
        fractions = [overhead / results.value(run) for overhead, run in zip(overheads, runs, strict=True)]
        streams = (results.value(_streams(size), f"{name}_ms") for name in ("one_stream", "two_streams"))
        values = *(part / 1e3 for part in overheads), *fractions, *(part / 1e3 for part in (memory, *streams))
        yield ((f"{size}x{size}",), values)


def _gflops(results: Results, sizes: tuple[int, ...]) -> Iterator[Row]:
    for size in sizes:
        operations = _operations(size)
        rates = [
            operations / 1e9 / _seconds(results, _run(key, size, GFLOPS_BLOCK)) for key in (NAIVE, OPTIMIZED)
        ]
        values: list[Value] = [operations, *rates, *(rate * 2 for rate in rates)]
        yield ((size,), values)


def _operations(size: int) -> int:
    """Return the multiply-adds, from the kernel's own model of work."""
    mask = resolve_mask(MASK)
    problem = Problem(size, size, mask_shape=mask.shape, anchor=mask.anchor)
    return variant(NAIVE).work(problem, Block(GFLOPS_BLOCK, GFLOPS_BLOCK)).flops // 2
