"""The tables of two papers: the 2-D convolution report, and the lab on separable convolution."""

import itertools

from engine.course import runs
from engine.course.paper import MISPRINT, Figure, Series, unmarked
from engine.course.papers import TABLE_TEXTS, paper
from engine.geometry.block import FLOAT_BYTES, Block
from engine.mask.presets import resolve_mask
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

REPORT, LAB = paper("report"), paper("lab")
REPORT_MASK, LAB_MASK = (resolve_mask(one.kernels[0].mask) for one in (REPORT, LAB))
REPORT_SIZES = 512, 1024, 2048
LAB_SIZES = 256, 512, 1024, 2048, 3072, 4096, 5120, 10240
BLOCKS = 8, 16, 32
SERIAL, NAIVE, OPTIMIZED = "cpu-serial", "naive-uncoalesced", "cached-constant"
# Whose requests are compared: the paper's kernel, not coalesced, and the same coalesced.
UNCOALESCED, COALESCED = NAIVE, "naive"
# Beside the paper's kernels: those with the paper's blocks, and the fastest, which has blocks of its own.
BESIDE, FASTEST = ("naive", "tiled"), "register-blocked"
# The block whose times the paper's GFLOPs come from, and that of its overhead's fractions (but one).
GFLOPS_BLOCK, OVERHEAD_BLOCK = 16, 8
LEVELS = {"L0": "separable-l0", "L1": "separable-l1", "L2": "separable-l2"}
SEPARABLE_SERIAL = "cpu-separable-serial"
LAB_BLOCK = Block(16, 16)
# Sides of the masks and of the picture whose operations and loads are counted.
COUNTED_MASKS, COUNTED_SIZE = (3, 5, 9, 17), 1024


def _run(key: str, size: int, side: int = 0) -> runs.FilterRun:
    """Return the report's run of a variant; `side` is 0 for one that takes no block."""
    return runs.filter_run(REPORT_MASK, key, size, block=Block(side, side) if side else None)


def report_tables(results: runs.Results, sizes: runs.Sizes) -> runs.Tables:
    """Yield times, speed-ups, sensitivity to the block, overhead, GFLOPs, as far as there are results."""
    sizes = sizes or REPORT_SIZES

    def seconds(key: str, size: int, side: int = 0) -> runs.Amount:
        return results.value(_run(key, size, side)) / 1e3

    rows: list[runs.Row] = []
    for size, side in itertools.product(sizes, BLOCKS):
        serial, fastest = seconds(SERIAL, size), seconds(FASTEST, size)
        naive, optimized, *beside = (seconds(key, size, side) for key in (NAIVE, OPTIMIZED, *BESIDE))
        speedups = serial / naive, serial / optimized, naive / optimized
        transactions = (results.transactions(_run(key, size, side)) for key in (UNCOALESCED, COALESCED))
        values = serial, naive, optimized, *speedups, *beside, fastest, *transactions
        rows.append(((f"{size}x{size}", side), values))
    yield runs.Content(rows)

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
                quotient = f"{total} / {side} is {runs.significant(right, 6)}"
                notes.append(f"{MISPRINT} Misprint in the paper: {names}: {quotient}, printed is {printed}.")
        yield runs.Content(rows, tuple(notes))

    # Overhead of allocation and transfer.
    rows = []
    for size in sizes:
        kernels = [_run(key, size, OVERHEAD_BLOCK) for key in (NAIVE, OPTIMIZED)]
        # Measured once, for both: which run finds memory that another one has left is chance.
        fresh, on_streams = runs.AllocationRun(size), runs.StreamsRun(_run(OPTIMIZED, size, OVERHEAD_BLOCK))
        memory = results.value(fresh, "allocate_ms") + results.value(fresh, "free_ms")
        copies = (results.value(run, "copy_in_ms") + results.value(run, "copy_out_ms") for run in kernels)
        overheads = [of_run + memory for of_run in copies]
        fractions = [overhead / results.value(run) for overhead, run in zip(overheads, kernels, strict=True)]
        streams = (results.value(on_streams, f"{name}_ms") for name in ("one_stream", "two_streams"))
        values = *(part / 1e3 for part in overheads), *fractions, *(part / 1e3 for part in (memory, *streams))
        rows.append(((f"{size}x{size}",), values))
    yield runs.Content(rows)

    # GFLOPs, of the multiply-adds of the kernel's own model of work.
    rows, block = [], Block(GFLOPS_BLOCK, GFLOPS_BLOCK)
    for size in sizes:
        problem = Problem(size, size, mask_shape=REPORT_MASK.shape, anchor=REPORT_MASK.anchor)
        operations = variant(NAIVE).work(problem, block).flops // 2
        rates = [operations / 1e9 / seconds(key, size, GFLOPS_BLOCK) for key in (NAIVE, OPTIMIZED)]
        rows.append(((size,), (operations, *rates, *(rate * 2 for rate in rates))))
    yield runs.Content(rows)


def lab_tables(results: runs.Results, sizes: runs.Sizes) -> runs.Tables:
    """Yield the first figure with its numbers as a table, table 1 with the second figure, and the counts."""
    x_label, times_ms = "Image size (pixels per side)", dict[int, list[runs.Amount]]()
    for size in sizes or LAB_SIZES:
        serial = runs.filter_run(LAB_MASK, SEPARABLE_SERIAL, size)
        levels = [runs.filter_run(LAB_MASK, key, size, block=LAB_BLOCK) for key in LEVELS.values()]
        times_ms[size] = [results.value(run) for run in (serial, *levels)]
    curves = _curves({"Serial": SEPARABLE_SERIAL} | LEVELS, times_ms)
    figure = Figure("Execution Time vs. Image Size", x_label, "Execution time (ms)", curves, log_y=True)
    yield runs.Content([((size,), values) for size, values in times_ms.items()], figure=figure)

    l2_bytes = results.value(runs.AttributesRun(), "l2_bytes")
    if l2_bytes.number == 0:
        l2_bytes = runs.Amount(reason="The driver does not state the size of its L2 cache.")
    here = {
        size: [before / after for before, after in itertools.pairwise(times)]
        for size, times in times_ms.items()
    }
    printed = TABLE_TEXTS[LAB][1].printed
    in_paper = {
        size: [runs.Amount(float(text)) for text in printed[str(size)]]
        for size in here
        if str(size) in printed
    }
    rows: list[runs.Row] = [
        ((size,), (*values, 100.0 * FLOAT_BYTES * size * size / l2_bytes)) for size, values in here.items()
    ]
    curves, of_paper = _curves(LEVELS, here), _curves(LEVELS, in_paper) if in_paper else ()
    title = "Speed-Up vs. Image Size per Level"
    figure = Figure(title, x_label, "Speed-up over the level before", curves, of_paper, log_y=True)
    yield runs.Content(rows, figure=figure)

    # Multiply-adds and global loads per result, in one pass and in two, by the models of work.
    rows = []
    for side in COUNTED_MASKS:
        problem = Problem(COUNTED_SIZE, COUNTED_SIZE, mask_shape=(side, side), anchor=(side // 2, side // 2))
        one, two, *of_levels = (
            variant(key).work(problem, LAB_BLOCK) for key in (SERIAL, SEPARABLE_SERIAL, *LEVELS.values())
        )
        operations = (work.flops // 2 // problem.samples for work in (one, two))
        loads = (work.global_loads / problem.samples for work in (one, *of_levels))
        rows.append(((f"{side} × {side}",), (*operations, *loads)))
    yield runs.Content(rows)


def _curves(curves: dict[str, str], values: dict[int, list[runs.Amount]]) -> tuple[Series, ...]:
    """Return a curve over the sizes for each (name, variant) of the columns of values."""
    columns = zip(*values.values(), strict=True)
    return tuple(
        Series(name, tuple(map(float, values)), tuple(value.number for value in column), key)
        for (name, key), column in zip(curves.items(), columns, strict=True)
    )
