"""The lecture on memories and performance: timers, bandwidths, CGMA, tile sizes, guidelines, examples."""

import itertools
from dataclasses import fields

from engine.course.jobs import COPY
from engine.course.paper import Figure, Series
from engine.course.papers import TABLE_TEXTS
from engine.course.runs import (
    AllocationRun,
    AttributesRun,
    ProductRun,
    Results,
    Row,
    Sizes,
    Tables,
    TimerRun,
    Told,
    Value,
    filter_run,
)
from engine.course.worked_examples import PERFORMANCE, Gpu, example, stated
from engine.device_info import GpuAttributes
from engine.geometry.block import Block
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.results.text_forms import sides_text
from engine.tasks.product.problem import (
    LECTURE_BANDWIDTH_GB_S,
    MatrixProduct,
    bandwidth_limited_gflops,
    matmul_variant,
)
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

# Source of the block (0,0) below: COSC 407, "CUDA Memories and Performance Revisited": slides "Global Memory
# Access by Threads in Block (0,0)", "Loading an Input Tile" and "Work for Block (0,0)".
WIDTH, TILE_WIDTH = 4, 2
# WIDTH and TILE_WIDTH: the lecture's example, and the sizes that "Tiling size effects" measures.
SIZES = ((WIDTH, TILE_WIDTH), (1024, 16), (1024, 32))
TIMER_SIZES = (256, 1024, 4096)
COPY_SIZES = (1024, 2048, 4096, 8192)
PRODUCT_SIZES = (1024,)
STRUCTURE_SIZES = (1024,)
TILES = (2, 4, 8, 16, 32)
NAIVE, TILED = "matmul-naive", "matmul-tiled"
LECTURE_TILE = 16
IDENTITY = Mask([[1.0]], name="identity")
ATTRIBUTES = AttributesRun()
BLOCK = Block(16, 16)
# The lecture's rule which data goes to which memory, with a kernel for each.
_MEMORIES = (
    ("R/Only", "constant memory (very fast if in cache)", "constant"),
    ("R/W shared within Block", "shared memory (very fast)", "tiled"),
    ("R/W within each thread", "registers (very very fast)", "register-blocked"),
    ("R/W inputs/results", "global memory (very slow)", "naive"),
)


def tables(results: Results, sizes: Sizes) -> Tables:
    """Yield the lecture's tables, its summary last; one of the worked examples is with the bandwidths."""
    texts, gpu = TABLE_TEXTS[PERFORMANCE], _gpu(results)
    problem = Problem(1024, 1024, mask_shape=(5, 5), anchor=(2, 2))

    # CPU timers and GPU timers.
    rows: list[Row] = []
    for size in sizes or TIMER_SIZES:
        run = TimerRun(filter_run(gaussian(5, sigma=1.0), "naive", size, size, block=BLOCK))
        by_host, by_device = (results.value(run, name) for name in ("host_ms", "kernel_ms"))
        rows.append(((f"{size} × {size}",), (by_host, by_device, by_host - by_device)))
    yield Told(rows)

    # Theoretical bandwidth, and the effective one of a copy.
    yield example(1, gpu)
    rows, theoretical_gb_s = [], stated(gpu, "bandwidth_gb_s")
    for size in sizes or COPY_SIZES:
        work = COPY.work(Problem(size, size, mask_shape=(1, 1), anchor=(0, 0)), COPY.default_block)
        moved = work.global_load_bytes + work.global_store_bytes
        time_ms = results.value(filter_run(IDENTITY, COPY.key, size, size))
        effective_gb_s = moved / 1e6 / time_ms
        percent = effective_gb_s / (theoretical_gb_s / 100.0)
        rows.append(((f"{size} × {size}",), (moved, time_ms, effective_gb_s, percent)))
    yield Told(rows)

    # CGMA of one block and, of the tiled kernel, one phase: what the lecture counts.
    rows = []
    for key, tile in ((NAIVE, LECTURE_TILE), *((TILED, tile) for tile in TILES)):
        counted = matmul_variant(key).work(MatrixProduct(tile, tile, tile), Block(tile, tile))
        assert counted is not None
        in_lecture, of_gb_s = (
            bandwidth_limited_gflops(counted.cgma, gb_s) for gb_s in (LECTURE_BANDWIDTH_GB_S, 1.0)
        )
        values = counted.global_loads, counted.flops, counted.cgma, in_lecture, theoretical_gb_s * of_gb_s
        rows.append(((key, tile), values))
    yield Told(rows)

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
    yield Told(rows)

    # How often each element is read from global memory, by the kernels' own models of work.
    rows = []
    for width, tile in SIZES:
        # The rows of M and the columns of N that one block needs; and all of both.
        block, whole = MatrixProduct(tile, width, tile), MatrixProduct(width, width, width)
        times = []
        for product, key in itertools.product((block, whole), (NAIVE, TILED)):
            counted = matmul_variant(key).work(product, Block(tile, tile))
            assert counted is not None
            elements = product.rows * product.inner + product.inner * product.columns
            times.append(counted.global_loads // elements)
        rows.append(((width, tile), times))
    yield Told(rows)

    # Tiling size effects.
    rows, x = [], tuple(map(float, TILES))
    curves: list[Series] = []
    for size in sizes or PRODUCT_SIZES:
        naive, tiled = ProductRun(NAIVE, size, LECTURE_TILE), [ProductRun(TILED, size, one) for one in TILES]
        rates = {one: results.value(one, "gflops") for one in (naive, *tiled)}
        for one, rate in rates.items():
            cells = results.value(one), rate, rate / rates[naive], results.transactions(one)
            rows.append(((f"{size} × {size}", one.variant, one.tile), cells))
        curves.append(Series(f"tiled, {size} × {size}", x, tuple(rates[one].number for one in tiled), TILED))
        name = f"naive, blocks of {LECTURE_TILE}, {size} × {size}"
        curves.append(Series(name, (x[0], x[-1]), (rates[naive].number,) * 2, NAIVE))
    yield Told(rows, figure=Figure("Tiling Size Effects", "TILE_WIDTH", "GFLOPS", tuple(curves)))

    # Performance improvement guidelines, and the worked examples.
    (launch,) = variant("naive").plan(problem, BLOCK)
    counts = {"threads": launch.blocks * BLOCK.threads, "blocks": launch.blocks}
    cell_loads = {
        key: variant(key).work(problem, BLOCK).picture_loads / problem.samples for key in ("naive", "tiled")
    }
    yield Told([((guideline,), (here.format(**counts, **cell_loads),)) for guideline, here in texts[7].rows])
    for number in (8, 9, 10, 11):
        yield example(number, gpu)

    # The steps of a CUDA program as the lecture lists them, with the time of each here.
    size = (sizes or STRUCTURE_SIZES)[0]
    filtering = filter_run(gaussian(5, sigma=1.0), "naive", size, size, block=BLOCK)
    (launch,) = variant("naive").plan(Problem(size, size, mask_shape=(5, 5), anchor=(2, 2)), BLOCK)
    sides = {"size": size, "grid": sides_text(launch.grid[:2]), "block": sides_text(launch.block[:2])}
    rows = []
    for step, code, here, timed in texts[12].rows:
        of_step = AllocationRun(size) if timed in ("allocate_ms", "free_ms") else filtering
        time: Value = results.value(of_step, timed) if timed else ""
        rows.append(((step, code), (time, here.format(**sides))))
    yield Told(rows)

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
        told = f"cells: {cells_text}; weights: {weights_text}"
        rows.append(((pattern, memory_title), (f"`{key}`", told)))
    yield Told(rows)


def _gpu(results: Results) -> Gpu:
    """Return the attributes of the GPU here, or why they are not known."""
    names = [field.name for field in fields(GpuAttributes)]
    found = {name: results.value(ATTRIBUTES, name) for name in names}
    reason = next((value.reason for value in found.values() if value.number is None), None)
    if reason is not None:
        return reason
    return GpuAttributes(**{name: value.number for name, value in found.items()})  # type: ignore[arg-type]
