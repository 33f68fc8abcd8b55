"""The lecture on memories and performance: timers, bandwidths, CGMA, tile sizes, guidelines.

Printed values are those of COSC 407, topic 16, "CUDA Memories and Performance Revisited", slides "Measuring
Performance: Bandwidth (BW)", "Problem!", "Computing CGMA when Tiling is used" and "Performance Improvement Guidelines".
"""

from engine.course.cells import counted, measured, named, ratio, told
from engine.course.copy_variant import COPY
from engine.course.paper import CourseTable, Figure, Series
from engine.course.papers import PERFORMANCE
from engine.course.runs import BusRun, FilterRun, ProductRun, Results, Run, TimerRun
from engine.geometry.block import Block
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.product.lecture import LECTURE_BANDWIDTH_GB_S, bandwidth_limited_gflops
from engine.tasks.product.problem import MatrixProduct
from engine.variants.registry import matmul_variant, variant

TIMER_SIZES = (256, 1024, 4096)
COPY_SIZES = (1024, 2048, 4096, 8192)
PRODUCT_SIZES = (1024,)
TILES = (2, 4, 8, 16, 32)
NAIVE, TILED = "matmul-naive", "matmul-tiled"
LECTURE_TILE = 16
IDENTITY = Mask([[1.0]], name="identity")
BUS = BusRun()

# (variant, tile): float loads, operations, CGMA, GFLOPS at 86.4 GB/s.
PRINTED_CGMA = {
    (NAIVE, LECTURE_TILE): ("", "", "1.0", "21.6"),
    (TILED, LECTURE_TILE): ("512", "8,192", "16", "347.6"),
}


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what the tables measure or ask the device for."""
    return (
        BUS,
        *(_timers(size) for size in sizes or TIMER_SIZES),
        *(_copy(size) for size in sizes or COPY_SIZES),
        *(run for size in sizes or PRODUCT_SIZES for run in _products(size)),
    )


def tables(results: Results, sizes: tuple[int, ...] | None) -> tuple[CourseTable, ...]:
    """Return the lecture's tables."""
    return (
        _both_timers(results, sizes or TIMER_SIZES),
        _theoretical(results),
        _effective(results, sizes or COPY_SIZES),
        _cgma(results),
        _tile_effects(results, sizes or PRODUCT_SIZES),
        _guidelines(),
    )


def _timers(size: int) -> Run:
    return TimerRun(
        FilterRun(variant="naive", mask=gaussian(5, sigma=1.0), width=size, height=size, block=Block(16, 16))
    )


def _copy(size: int) -> Run:
    return FilterRun(variant=COPY.key, mask=IDENTITY, width=size, height=size)


def _products(size: int) -> tuple[ProductRun, ...]:
    return (ProductRun(NAIVE, size, LECTURE_TILE), *(ProductRun(TILED, size, tile) for tile in TILES))


def _both_timers(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size in sizes:
        run = _timers(size)
        by_host, by_device = (results.value(run, name) for name in ("host_ms", "kernel_ms"))
        more = None if by_host is None or by_device is None else by_host - by_device
        rows.append(
            (
                *named(f"{size} x {size}"),
                *(measured(value, results.of(run)) for value in (by_host, by_device, more)),
            )
        )
    return CourseTable(
        PERFORMANCE.tables[0],
        ("Picture", "(1) CPU timer (ms)", "(2) GPU timer (ms)", "difference (ms)"),
        tuple(rows),
        (
            "`naive`, 5 x 5, blocks of 16 x 16; medians.",
            "CPU timer: the host's clock around one launch and the wait for its end. GPU timer: events around many "
            "launches, divided by their number; every time of a kernel here is taken so.",
            "The difference is launching and waiting, which costs a short kernel more than the kernel itself.",
        ),
    )


def _theoretical(results: Results) -> CourseTable:
    fault = results.of(BUS)
    clock_ghz = ratio(results.value(BUS, "memory_clock_mhz"), 1e3)
    bandwidth_gb_s = ratio(results.value(BUS, "bytes_per_second"), 1e9)
    row = (
        *named("Tesla in the lecture, this device here"),
        measured(clock_ghz, fault, "1.85"),
        measured(results.value(BUS, "bus_width_bits"), fault, "384"),
        measured(bandwidth_gb_s, fault, "177.6"),
    )
    return CourseTable(
        PERFORMANCE.tables[1],
        ("Device", "memory clock rate (GHz)", "memory interface width (bit)", "BW (GB/s)"),
        (row,),
        ("BW = clock rate x width / 8 x 2 for double data rate; clock and width are the driver's.",),
    )


def _effective(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    theoretical_gb_s = ratio(results.value(BUS, "bytes_per_second"), 1e9)
    rows = []
    for size in sizes:
        run = _copy(size)
        work = COPY.work(Problem(size, size, mask_shape=(1, 1), anchor=(0, 0)), COPY.default_block)
        moved = work.global_load_bytes + work.global_store_bytes
        time_ms = results.value(run, "kernel_ms")
        effective_gb_s = ratio(moved / 1e6, time_ms)
        percent = ratio(effective_gb_s, ratio(theoretical_gb_s, 100.0))
        rows.append(
            (
                *named(f"{size} x {size}"),
                counted(moved),
                measured(time_ms, results.of(run)),
                measured(effective_gb_s, results.of(run)),
                measured(percent, results.first_fault(run, BUS)),
            )
        )
    return CourseTable(
        PERFORMANCE.tables[2],
        ("Matrix of floats", "R_B + W_B (bytes)", "time (ms)", "BW effective (GB/s)", "of theoretical (%)"),
        tuple(rows),
        (
            "BW effective = (R_B + W_B) / time, of a kernel in which a thread copies an element; the copy is verified, "
            "the time is a median.",
            "The same matrix is copied again and again: one that fits the L2 cache can be faster than the memory.",
        ),
    )


def _cgma(results: Results) -> CourseTable:
    device_gb_s = ratio(results.value(BUS, "bytes_per_second"), 1e9)
    rows = []
    for key, tile in ((NAIVE, LECTURE_TILE), *((TILED, tile) for tile in TILES)):
        # One block and, of the tiled kernel, one phase: what the lecture counts.
        asked = matmul_variant(key).work(MatrixProduct(tile, tile, tile), Block(tile, tile))
        assert asked is not None
        printed = PRINTED_CGMA.get((key, tile), ("",) * 4)
        limit = None if device_gb_s is None else bandwidth_limited_gflops(asked.cgma, device_gb_s)
        rows.append(
            (
                *named(key, str(tile)),
                counted(asked.global_loads, printed[0]),
                counted(asked.flops, printed[1]),
                counted(asked.cgma, printed[2]),
                counted(bandwidth_limited_gflops(asked.cgma, LECTURE_BANDWIDTH_GB_S), printed[3]),
                measured(limit, results.of(BUS)),
            )
        )
    return CourseTable(
        PERFORMANCE.tables[3],
        (
            "Kernel",
            "TILE_WIDTH",
            "float loads from global memory",
            "mul/add operations",
            "CGMA",
            "GFLOPS that 86.4 GB/s can support (G80)",
            "GFLOPS that this device's bandwidth can support",
        ),
        tuple(rows),
        (
            "Loads, operations and CGMA are counted by the kernels' own models of work: one block, one phase.",
            "Misprint in the lecture: (86.4/4) x 16 is 345.6, printed is 347.6.",
            "The last column is theoretical bandwidth / 4 bytes x CGMA: caches and the arithmetic units are left out.",
        ),
    )


def _tile_effects(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows, curves = [], []
    for size in sizes:
        naive, *tiled = _products(size)
        for run in (naive, *tiled):
            rate = results.value(run, "gflops")
            rows.append(
                (
                    *named(f"{size} x {size}", run.variant, str(run.tile)),
                    measured(results.value(run, "kernel_ms"), results.of(run)),
                    measured(rate, results.of(run)),
                    measured(ratio(rate, results.value(naive, "gflops")), results.first_fault(naive, run)),
                )
            )
        x = tuple(float(tile) for tile in TILES)
        curves.append(
            Series(f"tiled, {size} x {size}", x, tuple(results.value(run, "gflops") for run in tiled), TILED)
        )
        curves.append(
            Series(
                f"naive, blocks of {LECTURE_TILE}, {size} x {size}",
                (x[0], x[-1]),
                (results.value(naive, "gflops"),) * 2,
                NAIVE,
            )
        )
    return CourseTable(
        PERFORMANCE.tables[4],
        ("Matrices", "Kernel", "TILE_WIDTH", "time (ms)", "GFLOPS", "Speed-up over naive"),
        tuple(rows),
        (
            "GFLOPS = 2 x width^3 / time; products verified, times medians. The lecture draws its figure and does not "
            "print its numbers.",
        ),
        Figure("Tiling Size Effects", "TILE_WIDTH", "GFLOPS", tuple(curves)),
    )


def _guidelines() -> CourseTable:
    block = Block(16, 16)
    problem = Problem(1024, 1024, mask_shape=(5, 5), anchor=(2, 2))
    naive, tiled = variant("naive"), variant("tiled")
    (launch,) = naive.plan(problem, block)
    loads = [chosen.work(problem, block).picture_loads / problem.samples for chosen in (naive, tiled)]
    threads = launch.blocks * block.threads
    rows = (
        (
            "Use many threads on the GPU",
            f"a 1024 x 1024 picture has {threads:,} threads with `naive`, one a result",
        ),
        (
            "Use # blocks > # SMs",
            f"in {launch.blocks} blocks of 16 x 16; `python main.py devices` says how many multiprocessors there are",
        ),
        (
            "Choose block dimensions that ... fully utilize the SM capabilities",
            "the report's tables compare blocks of 8, 16 and 32: `python main.py course report`",
        ),
        (
            "Reduce global memory traffic by copying frequently accessed data to faster memory",
            f"5 x 5: {loads[0]:.1f} loads a result with `naive`, {loads[1]:.2f} with `tiled`, 16 x 16",
        ),
        (
            "Minimal data transfer GPU <-> CPU",
            "kernel and end to end are separate times of every run; the report's overhead table has their ratio",
        ),
    )
    return CourseTable(
        PERFORMANCE.tables[5],
        ("Guideline", "Where it is seen here"),
        tuple((*named(guideline), told(here)) for guideline, here in rows),
    )
