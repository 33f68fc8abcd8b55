"""The tables of the 2-D convolution report: times, speed-ups, sensitivity to the block, overhead, GFLOPs."""

import itertools

from engine.course.paper import MISPRINT, unmarked
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import (
    AllocationRun,
    FilterRun,
    Quantity,
    Results,
    Row,
    Sizes,
    StreamsRun,
    Tables,
    Told,
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


def tables(results: Results, sizes: Sizes) -> Tables:
    """Yield the paper's tables, as far as there are results."""
    sizes = sizes or SIZES

    def seconds(key: str, size: int, side: int = 0) -> Quantity:
        return results.value(_run(key, size, side)) / 1e3

    rows: list[Row] = []
    for size, side in itertools.product(sizes, BLOCKS):
        serial, fastest = seconds(SERIAL, size), seconds(FASTEST, size)
        naive, optimized, *beside = (seconds(key, size, side) for key in (NAIVE, OPTIMIZED, *BESIDE))
        speedups = serial / naive, serial / optimized, naive / optimized
        transactions = (results.transactions(_run(key, size, side)) for key in (UNCOALESCED, COALESCED))
        values = serial, naive, optimized, *speedups, *beside, fastest, *transactions
        rows.append(((f"{size}x{size}", side), values))
    yield Told(rows)

    # The change for each extra thread, of both kernels.
    for key, text in zip((NAIVE, OPTIMIZED), TABLE_TEXTS[REPORT][1:3], strict=True):
        rows, notes = [], []
        for size, (small, large) in itertools.product(sizes, itertools.pairwise(BLOCKS)):
            change = seconds(key, size, large) - seconds(key, size, small)
            # The paper counts one extra thread per step of the side; the block gains large^2 - small^2.
            each = change / (large - small), change / (large**2 - small**2)
            rows.append(((f"{size}x{size}", f"{small}->{large}"), (change, *each)))
        # A note for each printed change per thread that is not the total divided by that of the side.
        for names, both in text.printed.items():
            total, printed = map(unmarked, both)
            side = int(names.partition(", ")[2].partition("->")[0])
            right = float(total) / side
            if abs(float(printed) - right) > 1e-6 * abs(right):
                quotient = f"{total} / {side} is {significant(right, 6)}"
                notes.append(f"{MISPRINT} Misprint in the paper: {names}: {quotient}, printed is {printed}.")
        yield Told(rows, tuple(notes))

    # Overhead of allocation and transfer.
    rows = []
    for size in sizes:
        runs = [_run(key, size, OVERHEAD_BLOCK) for key in (NAIVE, OPTIMIZED)]
        # Measured once, for both: which run finds memory that another one has left is chance.
        fresh, both_ways = AllocationRun(size), StreamsRun(_run(OPTIMIZED, size, OVERHEAD_BLOCK))
        memory = results.value(fresh, "allocate_ms") + results.value(fresh, "free_ms")
        copies = (results.value(run, "copy_in_ms") + results.value(run, "copy_out_ms") for run in runs)
        overheads = [of_run + memory for of_run in copies]
        fractions = [overhead / results.value(run) for overhead, run in zip(overheads, runs, strict=True)]
        streams = (results.value(both_ways, f"{name}_ms") for name in ("one_stream", "two_streams"))
        values = *(part / 1e3 for part in overheads), *fractions, *(part / 1e3 for part in (memory, *streams))
        rows.append(((f"{size}x{size}",), values))
    yield Told(rows)

    # GFLOPs, of the multiply-adds of the kernel's own model of work.
    rows, mask, block = [], resolve_mask(MASK), Block(GFLOPS_BLOCK, GFLOPS_BLOCK)
    for size in sizes:
        problem = Problem(size, size, mask_shape=mask.shape, anchor=mask.anchor)
        operations = variant(NAIVE).work(problem, block).flops // 2
        rates = [operations / 1e9 / seconds(key, size, GFLOPS_BLOCK) for key in (NAIVE, OPTIMIZED)]
        rows.append(((size,), (operations, *rates, *(rate * 2 for rate in rates))))
    yield Told(rows)
