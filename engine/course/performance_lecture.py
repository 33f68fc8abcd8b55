"""The lecture on memories and performance: timers, bandwidths, CGMA, tile sizes, guidelines, examples."""

import itertools
from collections.abc import Iterator
from dataclasses import fields

from engine.course.jobs import COPY
from engine.course.paper import CourseTable, Figure, Series
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import (
    AllocationRun,
    AttributesRun,
    FilterRun,
    ProductRun,
    Results,
    Row,
    Run,
    Tables,
    TimerRun,
    Value,
    course_table,
    filter_run,
)
from engine.course.worked_examples import EXAMPLES, Gpu, stated
from engine.device_info import GpuAttributes
from engine.geometry.block import Block
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.tasks.product.columns import LECTURE_BANDWIDTH_GB_S, bandwidth_limited_gflops
from engine.tasks.product.problem import MatrixProduct, matmul_variant
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

# Source of the block (0,0) below: COSC 407, "CUDA Memories and Performance Revisited": slides "Global Memory
# Access by Threads in Block (0,0)", "Loading an Input Tile" and "Work for Block (0,0)".
WIDTH, TILE_WIDTH = 4, 2
# WIDTH and TILE_WIDTH: the lecture's example, and the sizes that "Tiling size effects" measures.
SIZES = ((WIDTH, TILE_WIDTH), (1024, 16), (1024, 32))


def block_rows() -> Iterator[Row]:
    """Yield a row per thread of block (0,0): its accesses without tiles, then phase by phase with them."""
    for row, column in itertools.product(range(TILE_WIDTH), repeat=2):
        # What a thread of the naive kernel reads from global memory, step by step of its loop.
        terms = [f"M{row},{k} N{k},{column}" for k in range(WIDTH)]
        cells = ["; ".join(terms)]
        for first in range(0, WIDTH, TILE_WIDTH):
            # What it copies into shared memory in a phase: an element of each matrix.
            loads = f"M{row},{first + column} N{first + row},{column}"
            cells += [loads, " + ".join(terms[first : first + TILE_WIDTH])]
        yield ((f"({row},{column})", f"P{row},{column}"), cells)


def read_rows() -> Iterator[Row]:
    """Yield how often each element is read from global memory, by the kernels' own models of work."""
    for width, tile in SIZES:
        # The rows of M and the columns of N that one block needs; and all of both.
        block, whole = MatrixProduct(tile, width, tile), MatrixProduct(width, width, width)
        times = []
        for product, key in itertools.product((block, whole), ("matmul-naive", "matmul-tiled")):
            work = matmul_variant(key).work(product, Block(tile, tile))
            assert work is not None
            elements = product.rows * product.inner + product.inner * product.columns
            times.append(work.global_loads // elements)
        yield ((width, tile), times)


PERFORMANCE = paper("performance")
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


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what the tables measure or ask the device for."""
    return (
        ATTRIBUTES,
        *(_timers(size) for size in sizes or TIMER_SIZES),
        *(_copy(size) for size in sizes or COPY_SIZES),
        *(run for size in sizes or PRODUCT_SIZES for run in _products(size)),
        *_steps((sizes or STRUCTURE_SIZES)[0]),
    )


def tables(results: Results, sizes: tuple[int, ...] | None) -> Tables:
    """Return the lecture's tables, its summary last; one of the worked examples is with the bandwidths."""
    gpu, (bandwidths, *others) = _gpu(results), EXAMPLES
    return (
        _both_timers(results, sizes or TIMER_SIZES),
        bandwidths.table(gpu),
        _effective(results, gpu, sizes or COPY_SIZES),
        _cgma(gpu),
        block_rows(),
        read_rows(),
        _tile_effects(results, sizes or PRODUCT_SIZES),
        _guidelines(),
        *(example.table(gpu) for example in others),
        _structure(results, (sizes or STRUCTURE_SIZES)[0]),
        _memories(),
    )


def _timers(size: int) -> Run:
    return TimerRun(_steps(size)[0])


def _steps(size: int) -> tuple[FilterRun, AllocationRun]:
    """Return what the steps of a program are timed with."""
    filtering = filter_run(variant="naive", mask=gaussian(5, sigma=1.0), width=size, height=size, block=BLOCK)
    return filtering, AllocationRun(size)


def _copy(size: int) -> Run:
    return filter_run(variant=COPY.key, mask=IDENTITY, width=size, height=size)


def _products(size: int) -> tuple[ProductRun, ...]:
    return (ProductRun(NAIVE, size, LECTURE_TILE), *(ProductRun(TILED, size, tile) for tile in TILES))


def _both_timers(results: Results, sizes: tuple[int, ...]) -> Iterator[Row]:
    for size in sizes:
        by_host, by_device = (results.value(_timers(size), name) for name in ("host_ms", "kernel_ms"))
        yield ((f"{size} × {size}",), (by_host, by_device, by_host - by_device))


def _gpu(results: Results) -> Gpu:
    """Return the attributes of the GPU here, or why they are not known."""
    names = [field.name for field in fields(GpuAttributes)]
    found = {name: results.value(ATTRIBUTES, name) for name in names}
    reason = next((value.reason for value in found.values() if value.number is None), None)
    if reason is not None:
        return reason
    return GpuAttributes(**{name: value.number for name, value in found.items()})  # type: ignore[arg-type]


def _effective(results: Results, gpu: Gpu, sizes: tuple[int, ...]) -> Iterator[Row]:
    theoretical_gb_s = stated(gpu, "bandwidth_gb_s")
    for size in sizes:
        work = COPY.work(Problem(size, size, mask_shape=(1, 1), anchor=(0, 0)), COPY.default_block)
        moved = work.global_load_bytes + work.global_store_bytes
        time_ms = results.value(_copy(size))
        effective_gb_s = moved / 1e6 / time_ms
        percent = effective_gb_s / (theoretical_gb_s / 100.0)
        yield ((f"{size} × {size}",), (moved, time_ms, effective_gb_s, percent))


def _cgma(gpu: Gpu) -> Iterator[Row]:
    device_gb_s = stated(gpu, "bandwidth_gb_s")
    for key, tile in ((NAIVE, LECTURE_TILE), *((TILED, tile) for tile in TILES)):
        # One block and, of the tiled kernel, one phase: what the lecture counts.
        counted = matmul_variant(key).work(MatrixProduct(tile, tile, tile), Block(tile, tile))
        assert counted is not None
        values = (
            counted.global_loads,
            counted.flops,
            counted.cgma,
            bandwidth_limited_gflops(counted.cgma, LECTURE_BANDWIDTH_GB_S),
            device_gb_s * bandwidth_limited_gflops(counted.cgma, 1.0),
        )
        yield ((key, tile), values)


def _tile_effects(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows: list[Row] = []
    curves = []
    x = tuple(map(float, TILES))
    for size in sizes:
        naive, *tiled = _products(size)
        rates = {run: results.value(run, "gflops") for run in (naive, *tiled)}
        for run, rate in rates.items():
            values = results.value(run), rate, rate / rates[naive], results.transactions(run)
            rows.append(((f"{size} × {size}", run.variant, run.tile), values))
        curves.append(Series(f"tiled, {size} × {size}", x, tuple(rates[run].number for run in tiled), TILED))
        name = f"naive, blocks of {LECTURE_TILE}, {size} × {size}"
        curves.append(Series(name, (x[0], x[-1]), (rates[naive].number,) * 2, NAIVE))
    figure = Figure("Tiling Size Effects", "TILE_WIDTH", "GFLOPS", tuple(curves))
    return course_table(PERFORMANCE, 6, rows, figure=figure)


def _guidelines() -> Iterator[Row]:
    problem = Problem(1024, 1024, mask_shape=(5, 5), anchor=(2, 2))
    naive = variant("naive")
    (launch,) = naive.plan(problem, BLOCK)
    counts = {"threads": launch.blocks * BLOCK.threads, "blocks": launch.blocks}
    loads = {
        one.key: one.work(problem, BLOCK).picture_loads / problem.samples for one in (naive, variant("tiled"))
    }
    for guideline, here in TABLE_TEXTS[PERFORMANCE][7].rows:
        yield ((guideline,), (here.format(**counts, **loads),))


def _structure(results: Results, size: int) -> Iterator[Row]:
    """Yield the steps of a CUDA program as the lecture lists them, with the time of each here."""
    filtering, memory = _steps(size)
    (launch,) = variant("naive").plan(Problem(size, size, mask_shape=(5, 5), anchor=(2, 2)), BLOCK)
    grid, block = (" × ".join(map(str, sides[:2])) for sides in (launch.grid, launch.block))
    words = {"size": size, "grid": grid, "block": block}
    for step, code, here, timed in TABLE_TEXTS[PERFORMANCE][12].rows:
        run = memory if timed in ("allocate_ms", "free_ms") else filtering
        time: Value = results.value(run, timed) if timed else ""
        yield ((step, code), (time, here.format(**words)))


def _memories() -> Iterator[Row]:
    """Yield the lecture's rule which data goes to which memory, with a kernel for each."""
    problem = Problem(1024, 1024, mask_shape=(5, 5), anchor=(2, 2))

    def counted(key: str) -> str:
        chosen = variant(key)
        work = chosen.work(problem, chosen.default_block)
        of_weights = work.global_loads - work.picture_loads
        cells = _per_result(problem, {"global": work.picture_loads, "shared": work.shared_loads})
        weights = _per_result(problem, {"global": of_weights, "constant": work.constant_loads})
        return f"cells: {cells}; weights: {weights}"

    rows = (
        ("R/Only", "constant memory (very fast if in cache)", "constant"),
        ("R/W shared within Block", "shared memory (very fast)", "tiled"),
        ("R/W within each thread", "registers (very very fast)", "register-blocked"),
        ("R/W inputs/results", "global memory (very slow)", "naive"),
    )
    for pattern, memory, key in rows:
        yield ((pattern, memory), (f"`{key}`", counted(key)))


def _per_result(problem: Problem, loads: dict[str, int]) -> str:
    return ", ".join(f"{count / problem.samples:.3g} {memory}" for memory, count in loads.items() if count)
