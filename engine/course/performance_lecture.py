"""The lecture on memories and performance: timers, bandwidths, CGMA, tile sizes, guidelines.

And its worked examples, for the GPU here too: pure arithmetic that asks no device. What a GPU states of
itself is shown, or the reason why there is none.

Source: COSC 407, "CUDA Memories and Performance Revisited".
"""

import itertools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from engine.course import runs
from engine.course.paper import CourseTable, Figure, Series
from engine.course.papers import TABLE_TEXTS, paper
from engine.device_info import GpuAttributes
from engine.geometry.block import Block
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.results.occupancy import WARP, occupancy
from engine.results.text_forms import sides_text
from engine.tasks.product import problem as matmul
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

Values = Mapping[str, Any]
"""The lecture's values, as papers.toml has them."""
PERFORMANCE = paper("performance")
# What one transaction moves, bytes: through L1, and through L2 alone.
_UNITS = 128, 32
LECTURE, HERE = "G80 in the lecture", "this device"
_TESLA = "Tesla in the lecture"
# What a GPU may not state, in words.
_STATED = {
    "memory_clock_mhz": "the clock of its memory",
    "bus_width_bits": "the width of its memory bus",
    "bandwidth_gb_s": "clock and width of its memory bus",
    "peak_gflops": "its clock",
    "host_bus_gb_s": "how fast its bus to the host is",
}
# The GPU here, or why there is none.
Gpu = GpuAttributes | str


def transactions(stride: int, element_bytes: int, first: int, transaction_bytes: int) -> int:
    """Return the transactions of a warp whose thread t reads element first + t x stride.

    Examples
    --------
    >>> [transactions(stride, 4, 0, 128) for stride in (1, 2, 32)], transactions(1, 4, 1, 128)
    ([1, 2, 32], 2)
    """
    begins = ((first + thread * stride) * element_bytes for thread in range(WARP))
    touched = (byte for begin in begins for byte in range(begin, begin + element_bytes))
    return len({byte // transaction_bytes for byte in touched})


def stated(gpu: Gpu, name: str) -> runs.Amount:
    """Return what the driver states of the GPU here, or why it is not known."""
    if isinstance(gpu, str):
        return runs.Amount(reason=gpu)
    if (value := getattr(gpu, name)) > 0:
        return runs.Amount(value)
    return runs.Amount(reason=f"The driver does not state {_STATED[name]}.")


def _bandwidths(values: Values, gpu: Gpu) -> Iterable[runs.Row]:
    clock, width, rate = values["clock"], values["width"], values["rate"]
    # The slide calls its device Tesla.
    yield (_TESLA,), (clock, width, clock * width / 8 * rate)
    here = stated(gpu, "memory_clock_mhz") / 1e3, stated(gpu, "bus_width_bits"), stated(gpu, "bandwidth_gb_s")
    yield (HERE,), here


def _bus(values: Values, gpu: Gpu) -> Iterable[runs.Row]:
    count = values["additions"]
    moved_bytes = count * values["moved"] * values["size"]
    theirs = (runs.Amount(values[name]) for name in ("bus", "bandwidth", "peak"))
    here = (stated(gpu, name) for name in ("host_bus_gb_s", "bandwidth_gb_s", "peak_gflops"))
    for name, (bus, memory, peak) in ((LECTURE, theirs), (HERE, here)):
        on_bus, in_memory, adding = moved_bytes / 1e6 / bus, moved_bytes / 1e6 / memory, count / 1e6 / peak
        yield (name,), (moved_bytes, bus, on_bus, memory, in_memory, adding, on_bus / adding)


def _peaks(values: Values, gpu: Gpu) -> Iterable[runs.Row]:
    theirs = runs.Amount(values["bandwidth"]), runs.Amount(values["peak"])
    here = stated(gpu, "bandwidth_gb_s"), stated(gpu, "peak_gflops")
    for ratio, (name, (memory, peak)) in itertools.product(values["cgma"], ((LECTURE, theirs), (HERE, here))):
        numbers_per_s = memory / values["size"]
        fed = numbers_per_s * ratio
        share = fed / peak * 100
        reached = share if share.number is None else runs.Amount(min(100.0, share.number))
        yield (f"{ratio:g}", name), (memory, peak, fed, reached, peak / numbers_per_s)


def _strides(values: Values, gpu: Gpu) -> Iterable[runs.Row]:
    for stride in values["strides"]:
        counts = [transactions(stride, values["size"], values["first"], unit) for unit in _UNITS]
        # With stride 0 all threads read one element.
        requested, moved = (WARP if stride else 1) * values["size"], list(map(operator.mul, counts, _UNITS))
        of_lines, of_segments = (requested / size for size in moved)
        lines, segments = zip(counts, moved, (of_lines * 100, of_segments * 100), strict=True)
        useful = values["bandwidth"] * of_lines, stated(gpu, "bandwidth_gb_s") * of_segments
        yield (stride,), (*lines, *segments, *useful)


def _occupancies(values: Values, gpu: Gpu) -> Iterable[runs.Row]:
    names = "threads", "blocks", "registers", "shared_bytes"
    threads, blocks, registers, shared_bytes = (values[name] for name in names)
    # One multiprocessor, without reserved memory, clocks and a bandwidth.
    theirs = GpuAttributes(1, threads, blocks, registers, shared_bytes, 0, values["most"], 0.0, 0.0)
    sizes = map(Block.parse, values["block"])
    for block, (name, one) in itertools.product(sizes, ((LECTURE, theirs), (HERE, gpu))):
        if isinstance(one, str):
            yield (block, name), (block.threads, *[runs.Amount(reason=one)] * 5)
            continue
        shared_bytes = block.threads * values["shared_per_thread"]
        fit = occupancy(block.threads, values["per_thread"], shared_bytes, one)
        resident = fit.blocks, fit.blocks * block.threads, f"{fit.warps} of {fit.most_warps}"
        yield (block, name), (block.threads, *resident, 100 * fit.share, fit.limited_by)


EXAMPLES = {1: _bandwidths, 8: _bus, 9: _peaks, 10: _strides, 11: _occupancies}
"""The examples by the numbers of their tables, counted from 0."""


def example(number: int, gpu: Gpu) -> runs.Content:
    """Return the content of the table of that number: what the driver of the GPU here states, or why not."""
    return runs.Content(EXAMPLES[number](TABLE_TEXTS[PERFORMANCE][number].values, gpu))


def example_table(paper_key: str, title: str, gpu: Gpu) -> CourseTable | None:
    """Return a table of a paper that is a worked example, for the GPU here; None for another table."""
    for number in EXAMPLES:
        if (paper_key, title) == (PERFORMANCE.key, PERFORMANCE.tables[number]):
            return runs.course_table(TABLE_TEXTS[PERFORMANCE][number], example(number, gpu))
    return None


# Of block (0,0) below: slides "Global Memory Access by Threads in Block (0,0)", "Loading an Input Tile" and
# "Work for Block (0,0)".
WIDTH, TILE_WIDTH = 4, 2
# The lecture's example, and the sizes that "Tiling size effects" measures.
SIZES = ((WIDTH, TILE_WIDTH), (1024, 16), (1024, 32))
TIMER_SIZES = (256, 1024, 4096)
COPY_SIZES = (1024, 2048, 4096, 8192)
PRODUCT_SIZES = (1024,)
STRUCTURE_SIZES = (1024,)
TILES = (2, 4, 8, 16, 32)
NAIVE, TILED = "matmul-naive", "matmul-tiled"
LECTURE_TILE = 16
IDENTITY = Mask([[1.0]], name="identity")
ATTRIBUTES = runs.AttributesRun()
BLOCK = Block(16, 16)
# The lecture's rule which data goes to which memory, with a kernel for each.
_MEMORIES = (
    ("R/Only", "constant memory (very fast if in cache)", "constant"),
    ("R/W shared within Block", "shared memory (very fast)", "tiled"),
    ("R/W within each thread", "registers (very very fast)", "register-blocked"),
    ("R/W inputs/results", "global memory (very slow)", "naive"),
)


def tables(results: runs.Results, sizes: runs.Sizes) -> runs.Tables:
    """Yield the lecture's tables, its summary last; one of the worked examples is with the bandwidths."""
    texts, gpu = TABLE_TEXTS[PERFORMANCE], _gpu(results)
    problem = Problem(1024, 1024, mask_shape=(5, 5), anchor=(2, 2))

    # CPU timers and GPU timers.
    rows: list[runs.Row] = []
    for size in sizes or TIMER_SIZES:
        run = runs.TimerRun(runs.filter_run(gaussian(5, sigma=1.0), "naive", size, block=BLOCK))
        by_host, by_device = (results.value(run, name) for name in ("host_ms", "kernel_ms"))
        rows.append(((f"{size} × {size}",), (by_host, by_device, by_host - by_device)))
    yield runs.Content(rows)

    # Theoretical bandwidth, and the effective one of a copy.
    yield example(1, gpu)
    rows, theoretical_gb_s = [], stated(gpu, "bandwidth_gb_s")
    for size in sizes or COPY_SIZES:
        moved = Problem(size, size, mask_shape=IDENTITY.shape, anchor=IDENTITY.anchor).copied_bytes
        time_ms = results.value(runs.filter_run(IDENTITY, runs.COPY_KEY, size))
        effective_gb_s = moved / 1e6 / time_ms
        percent = effective_gb_s / (theoretical_gb_s / 100.0)
        rows.append(((f"{size} × {size}",), (moved, time_ms, effective_gb_s, percent)))
    yield runs.Content(rows)

    # CGMA of one block and, of the tiled kernel, one phase: what the lecture counts.
    rows = []
    for key, tile in ((NAIVE, LECTURE_TILE), *((TILED, tile) for tile in TILES)):
        counted = matmul.matmul_variant(key).work(matmul.MatrixProduct(tile, tile, tile), Block(tile, tile))
        assert counted is not None
        limit = partial(matmul.bandwidth_limited_gflops, counted.cgma)
        limits = limit(matmul.LECTURE_BANDWIDTH_GB_S), theoretical_gb_s * limit(1.0)
        rows.append(((key, tile), (counted.global_loads, counted.flops, counted.cgma, *limits)))
    yield runs.Content(rows)

    # Each thread of block (0,0): its accesses without tiles, then phase by phase with them.
    rows = []
    for row, column in itertools.product(range(TILE_WIDTH), repeat=2):
        # What a thread of the naive kernel reads from global memory, step by step of its loop.
        terms = [f"M{row},{k} N{k},{column}" for k in range(WIDTH)]
        words = ["; ".join(terms)]
        for first in range(0, WIDTH, TILE_WIDTH):
            # What it copies into shared memory in a phase: an element of each matrix.
            loads = f"M{row},{first + column} N{first + row},{column}"
            words += [loads, " + ".join(terms[first : first + TILE_WIDTH])]
        rows.append(((f"({row},{column})", f"P{row},{column}"), words))
    yield runs.Content(rows)

    # How often each element is read from global memory, by the kernels' own models of work.
    rows = []
    for width, tile in SIZES:
        # The rows of M and the columns of N that one block needs; and all of both.
        block, whole = matmul.MatrixProduct(tile, width, tile), matmul.MatrixProduct(width, width, width)
        times = []
        for product, key in itertools.product((block, whole), (NAIVE, TILED)):
            counted = matmul.matmul_variant(key).work(product, Block(tile, tile))
            assert counted is not None
            elements = product.rows * product.inner + product.inner * product.columns
            times.append(counted.global_loads // elements)
        rows.append(((width, tile), times))
    yield runs.Content(rows)

    # Tiling size effects.
    rows, x = [], tuple(map(float, TILES))
    curves: list[Series] = []
    for size in sizes or PRODUCT_SIZES:
        naive = runs.ProductRun(NAIVE, size, LECTURE_TILE)
        tiled = [runs.ProductRun(TILED, size, one) for one in TILES]
        rates = {one: results.value(one, "gflops") for one in (naive, *tiled)}
        for one, rate in rates.items():
            cells = results.value(one), rate, rate / rates[naive], results.transactions(one)
            rows.append(((f"{size} × {size}", one.variant, one.tile), cells))
        curves.append(Series(f"tiled, {size} × {size}", x, tuple(rates[one].number for one in tiled), TILED))
        name = f"naive, blocks of {LECTURE_TILE}, {size} × {size}"
        curves.append(Series(name, (x[0], x[-1]), (rates[naive].number,) * 2, NAIVE))
    yield runs.Content(rows, figure=Figure("Tiling Size Effects", "TILE_WIDTH", "GFLOPS", tuple(curves)))

    # Performance improvement guidelines, and the worked examples.
    (launch,) = variant("naive").plan(problem, BLOCK)
    counts: dict[str, float] = {"threads": launch.blocks * BLOCK.threads, "blocks": launch.blocks}
    for key in ("naive", "tiled"):
        counts[key] = variant(key).work(problem, BLOCK).picture_loads / problem.samples
    yield runs.Content([((guideline,), (here.format(**counts),)) for guideline, here in texts[7].rows])
    for number in (8, 9, 10, 11):
        yield example(number, gpu)

    # The steps of a CUDA program as the lecture lists them, with the time of each here.
    size = (sizes or STRUCTURE_SIZES)[0]
    filtering = runs.filter_run(gaussian(5, sigma=1.0), "naive", size, block=BLOCK)
    (launch,) = variant("naive").plan(Problem(size, size, mask_shape=(5, 5), anchor=(2, 2)), BLOCK)
    sides = {"size": size, "grid": sides_text(launch.grid[:2]), "block": sides_text(launch.block[:2])}
    rows = []
    for step, code, here, timed in texts[12].rows:
        of_step = runs.AllocationRun(size) if timed in ("allocate_ms", "free_ms") else filtering
        time: runs.Value = results.value(of_step, timed) if timed else ""
        rows.append(((step, code), (time, here.format(**sides))))
    yield runs.Content(rows)

    # Which data goes to which memory.
    rows = []
    for pattern, memory_title, key in _MEMORIES:
        work = variant(key).work(problem, variant(key).default_block)
        of_weights = work.global_loads - work.picture_loads
        cells_at = {"global": work.picture_loads, "shared": work.shared_loads}
        weights_at = {"global": of_weights, "constant": work.constant_loads}
        cells_text, weights_text = (
            ", ".join(f"{count / problem.samples:.3g} {where}" for where, count in loads_at.items() if count)
            for loads_at in (cells_at, weights_at)
        )
        text = f"cells: {cells_text}; weights: {weights_text}"
        rows.append(((pattern, memory_title), (f"`{key}`", text)))
    yield runs.Content(rows)


def _gpu(results: runs.Results) -> Gpu:
    """Return the attributes of the GPU here, or why they are not known."""
    names = [field.name for field in fields(GpuAttributes)]
    amounts = {name: results.value(ATTRIBUTES, name) for name in names}
    reason = next((value.reason for value in amounts.values() if value.number is None), None)
    if reason is not None:
        return reason
    return GpuAttributes(**{name: value.number for name, value in amounts.items()})  # type: ignore[arg-type]
