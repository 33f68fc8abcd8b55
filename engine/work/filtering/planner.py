"""`auto`: chooses a device and a variant by measured times, and says why. It never hides which one ran.

`cost_table_cpu.json` and `cost_table_cuda.json` hold the kernel time of every variant on a grid of picture
sizes, mask sizes and kinds of samples and results, measured by `python -m bench.auto`, and the machine. CUDA
variants that load tiles have two such grids, with ghost cells and with mirrored ones: in a small picture
every tile touches an edge (256 x 256 float32, 9 x 9, `register-blocked`: 4.4 and 5.1 us). Between the points
times are straight lines of logarithms. A mask that is not square counts as a square one with as many cells,
or with as many rows and columns together, whichever the variant's time grows with. Rows of a few variants are
scaled by what random problems took (docs/experiments/auto.md). On another machine the part that a copy of
picture and result would take is scaled by the memory's bandwidth, and the rest by the rate of multiply-adds:
the error that remains is much the same for all variants, and `auto` only compares.

For a caller `auto` compares what a whole call with arrays of the host takes on the CPU and on a GPU. The
table has large square pictures and masks on two cores, so the time of `cpu-parallel`, on a strip of a few
rows, or on 16 cores, follows from what it does: multiply-adds, totals that are read and written for each mask
row, edges that are copied, threads that are woken. The numbers were fitted to 171 random calls (16 cores with
AVX-512 beside an H100): 80 % of the times lie within 0.75 to 1.31 times the estimate.
"""

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from engine.device_info import AUTO, DeviceInfo
from engine.errors import Reason
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.process import workers_for
from engine.run.task import Choice
from engine.work.filtering.variants import VARIANTS, Growth, MaskClass, Variant, variant
from engine.work.problem import Problem

CORE_MULTIPLY_ADDS_G_S = 50.0
"""The rate of one CPU core, so that the rate of a table says how many it was measured with."""

MANY = 4
"""How often the inner work was done for the second of two rows of a variant; others lie on their line."""
_Line = tuple[float, tuple[float, ...], tuple[float, ...]]
"""The known times for pictures of one size, as natural logarithms: pixels, then mask sides and times."""
_LEAD = 1.05

# What a process waits for before its first kernel: Numba's CUDA target (0.65 s), the driver's context, the
# kernel's code.
GPU_START_S = 1.2
# Copies from and to memory that is not pinned.
PAGEABLE_GB_S = 6.0
CPU_CALL_US = 8.0
# All threads but the caller's are woken.
OTHER_THREADS_US = 55.0
SAMPLE_NS = 0.26
# Per sample and mask row: what is read and written of totals.
MASK_ROW_NS = 0.070
MULTIPLY_ADD_NS = 0.0227
# Per picture row and tile of TILE_SAMPLES, of which a band has at least BAND_ROWS rows.
ROW_NS, EDGE_ROW_NS, EDGE_CELL_NS = 16.0, 1.6, 0.038
TILE_SAMPLES, BAND_ROWS = 2048, 16
# A kernel's launch beside the copies.
LAUNCH_US = 10.0
# On no machine did a call of a GPU take less (H100: 45): where the CPU does, no GPU is looked for.
LEAST_GPU_CALL_US = 40.0


class Rates(NamedTuple):
    """What a machine can do: bytes copied, read and written, GB/s, and multiply-adds of all cores, G/s."""

    copy_gb_s: float
    multiply_adds_g_s: float


@dataclass(frozen=True, slots=True, eq=False)
class CostTable:
    """The measured times of one kind of device, whose own rates are `rates`.

    The grid has square pictures and square masks (for 1-D variants rows of as many cells). `times_us` has by
    variant and kind of samples (`kind_of`) a row of times per picture side, one time per mask side,
    microseconds; None where nothing could be measured. Variants whose masks may repeat the inner work have a
    second row, with MANY times the work (`repeated`).
    """

    rates: Rates
    picture_sides: tuple[int, ...]
    mask_sides: tuple[int, ...]
    times_us: dict[str, dict[str, list[list[float | None]]]]
    # `auto` reads a table a hundred times for a choice, while a person waits.
    _lines: dict[tuple[str, str], list[_Line]] = field(default_factory=dict, compare=False, repr=False)

    def time_us(self, variant: Variant, problem: Problem, rates: Rates, repeats: int = 1) -> float:
        """Return about how long it takes at these rates, us, or infinity; `repeats` is the mask's."""
        once = self._time_us(variant.key, variant, problem, rates)
        if repeats == 1:
            return once
        many = self._time_us(repeated(variant.key), variant, problem, rates)
        return once + (repeats - 1) * (many - once) / (MANY - 1)

    def _time_us(self, row: str, variant: Variant, problem: Problem, rates: Rates) -> float:
        kinds = self.times_us.get(row)
        kind = nearest_kind(problem, kinds) if kinds else None
        if not kinds or kind is None:
            return math.inf
        slope = 2.0 if variant.grows_with is Growth.CELLS else 1.0
        pixels = problem.samples / int(kind[-1])
        measured_us = self._read(row, kind, mask_side_of(variant, problem), slope, pixels)
        copy_us = problem.samples * (problem.itemsize + problem.result_itemsize) / self.rates.copy_gb_s / 1e3
        moved_us = min(measured_us, copy_us)
        return (
            moved_us * self.rates.copy_gb_s / rates.copy_gb_s
            + (measured_us - moved_us) * self.rates.multiply_adds_g_s / rates.multiply_adds_g_s
        )

    def _read(self, key: str, kind: str, mask_side: float, slope: float, pixels: float) -> float:
        """Return the time by straight lines of logarithms along both axes, past the last side by `slope`."""
        lines = self._lines.get((key, kind))
        if lines is None:
            lines = self._lines[key, kind] = []
            for side, row in zip(self.picture_sides, self.times_us[key][kind], strict=True):
                known = zip(self.mask_sides, row, strict=True)
                if logs_of := [(math.log(one), math.log(time)) for one, time in known if time]:
                    mask_logs, time_logs = zip(*logs_of, strict=True)
                    lines.append((2 * math.log(side), mask_logs, time_logs))
        if not lines:
            return math.inf
        at = math.log(mask_side)
        logs = [_at(at, mask_logs, time_logs, slope) for _, mask_logs, time_logs in lines]
        return math.exp(_at(math.log(pixels), [line[0] for line in lines], logs, 1.0))


def _at(at: float, places: Sequence[float], values: Sequence[float], slope: float) -> float:
    """Return the value at a position: constant before the first, rising with `slope` after the last."""
    after = bisect_right(places, at)
    if after == 0:
        return values[0]
    if after == len(places):
        return values[-1] + slope * (at - places[-1])
    low, high = places[after - 1], places[after]
    return values[after - 1] + (values[after] - values[after - 1]) * (at - low) / (high - low)


def mask_side_of(variant: Variant, problem: Problem) -> float:
    """Return the side of the square mask (for rows: the length) that costs as much as the problem's."""
    rows, columns = problem.mask_shape
    if variant.masks is MaskClass.ONE_ROW:
        return columns
    return math.sqrt(rows * columns) if variant.grows_with is Growth.CELLS else (rows + columns) / 2


def repeated(key: str) -> str:
    """Return the name of the row of a variant's times with MANY times the inner work."""
    return f"{key}, {MANY} times"


def kind_of(
    dtype: str, channels: int, *, has_ghost_cells: bool = False, result_dtype: str = "float32"
) -> str:
    """Return the name of a kind of samples in the table; its last letter is the number of channels."""
    samples = dtype if result_dtype == "float32" else f"{dtype} to {result_dtype}"
    return f"{'ghost cells, ' if has_ghost_cells else ''}{samples} x {channels}"


def nearest_kind(problem: Problem, kinds: Mapping[str, object]) -> str | None:
    """Return the kind of samples nearest to the problem's: by type, channels, results, then ghost cells."""
    ghosts = problem.border.has_ghost_cells
    for dtype in (problem.dtype, "uint8" if problem.dtype == "uint16" else "float32"):
        results = (dtype, "float32") if problem.is_quantised else ("float32",)
        channels = (1, 3) if problem.channels == 1 else (3, 1)
        for number, result, cells in product(channels, results, (ghosts, not ghosts)):
            kind = kind_of(dtype, number, has_ghost_cells=cells, result_dtype=result)
            if kind in kinds:
                return kind
    return None


def table_path(device_kind: str) -> Path:
    """Return the file of a kind of device, "cpu" or "cuda", of which most processes need one."""
    return Path(__file__).with_name(f"cost_table_{device_kind}.json")


@cache
def cost_table(device_kind: str) -> CostTable:
    """Return the table of a kind of device, "cpu" or "cuda"."""
    path = table_path(device_kind)
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        sides = tuple(table["picture_sides"]), tuple(table["mask_sides"])
        return CostTable(Rates(**table["rates"]), *sides, table["times_us"])
    except Exception:
        # A first filter does without what reads files of people: 15 ms.
        from engine.files.reading import faults_of_asset

        with faults_of_asset(path, "The table of times"):
            raise


def rates_of(device: DeviceInfo, measured: Rates) -> Rates:
    """Return the rates of a device, estimated from its facts; without facts those of the measured machine."""
    facts = device.facts
    if device.kind == "cpu":
        # A core counts as one of the measured ones; up to eight of them add bandwidth.
        measured_cores = measured.multiply_adds_g_s / CORE_MULTIPLY_ADDS_G_S
        cores = int(facts.get("cores", str(round(measured_cores))))
        copy_gb_s = measured.copy_gb_s * min(cores, 8) / min(measured_cores, 8)
        return Rates(copy_gb_s, CORE_MULTIPLY_ADDS_G_S * cores)
    if "multiprocessors" not in facts or not device.bandwidth_gb_s:
        return measured
    clock_ghz = float(facts["clock"].split()[0]) / 1e3
    # A copy reaches about 85 % of the theoretical bandwidth; 128 multiply-adds a clock and multiprocessor.
    return Rates(0.85 * device.bandwidth_gb_s, int(facts["multiprocessors"]) * 128 * clock_ghz)


def choose(
    key: str, problem: Problem, mask: Mask, block: Block | None, device: DeviceInfo, in_bands: bool = False
) -> Choice[Variant]:
    """Return the variant and the block that a request means on a device; raises UnknownName.

    A variant's key is obeyed. "auto" chooses, among the variants for the kind of device whose results are
    sure to hold the bound of a direct sum, the one with the least time; where the picture is filtered in
    bands, among those that are `band_invariant`. Without a block it is the variant's default.
    """
    if key != AUTO:
        chosen = variant(key)
        return Choice(chosen, block or chosen.default_block)
    return _fastest(problem, mask, block, device, cost_table(device.kind), in_bands)


# The same picture size and mask again, as in a stream: 0.1 to 0.4 ms less before the first copy.
@lru_cache(maxsize=64)
def _fastest(
    problem: Problem, mask: Mask, block: Block | None, device: DeviceInfo, table: CostTable, in_bands: bool
) -> Choice[Variant]:
    known = [one for one in VARIANTS.on(device.kind) if one.band_invariant or not in_bands]
    able = [one for one in known if not one.why_not(problem, mask, one.block_for(block), device.limits)]
    if not able:
        nothing = Reason("nothing-suits", "nothing else suits this block")
        return Choice(known[0], block or known[0].default_block, nothing)
    rates = rates_of(device, table.rates)
    times_us = {one.key: table.time_us(one, problem, rates, one.repeats_of(mask)) for one in able}
    # A plain sum wins where another method is hardly faster.
    lead = {one.key: 1.0 if one.grows_with is Growth.CELLS else _LEAD for one in able}
    order = sorted(able, key=lambda one: times_us[one.key] * lead[one.key])
    # Few have to answer: for a transform the answer takes the steps of all weights.
    position = next((n for n, candidate in enumerate(order) if holds_bound(candidate, problem, mask)), 0)
    chosen = order[position]
    reason = Reason("not-measured", "nothing was measured of those that suit")
    if not math.isinf(times_us[chosen.key]):
        on_other = " on the GPU that was measured" * (device.key == "simulator")

        def timed(one: Variant) -> str:
            return f"{one.key} ({milliseconds(times_us[one.key])})"

        following = order[position + 1 :][:1]
        also = [f"next best: {timed(one)}" for one in following if times_us[one.key] < math.inf]
        if chosen.library:
            also.append("a Fourier transform, exact because results are whole numbers of a unit")
        for other in order[:position][:1]:
            but = "its error may exceed that of a direct sum"
            if other.finite_only and other.added_error(problem, mask) == 0.0:
                but = "it takes no NaN and no infinity"
            also.append(f"not {timed(other)}: {but}")
        short = f"estimated {milliseconds(times_us[chosen.key])}{on_other}"
        reason = Reason("least-estimated-time", short).and_also(*also)
    if problem.is_quantised:
        as_float32 = replace(problem, result_dtype="float32")
        in_float32 = choose(AUTO, as_float32, mask, block, device, in_bands).variant
        if not in_float32.integer_output:
            reason = reason.and_also(f"{in_float32.key} would be faster, but writes float32 results only")
    return Choice(chosen, chosen.block_for(block), reason)


def why_not_gpu(problem: Problem, mask: Mask, cpu: DeviceInfo, pictures: int) -> str:
    """Return why so many pictures that come from files are filtered on the CPU; empty if a GPU may be faster.

    A GPU that this process has not used yet has to be started, and each picture copied there and back. What
    decoding and encoding take is the same for both.
    """
    cpu_us = kernel_us(problem, mask, cpu) * pictures
    gpu_us = GPU_START_S * 1e6 + pictures * problem.copied_bytes / PAGEABLE_GB_S / 1e3
    if cpu_us > gpu_us:
        return ""
    return f"a GPU would take {milliseconds(gpu_us)} to start and copy"


def kernel_us(problem: Problem, mask: Mask, device: DeviceInfo) -> float:
    """Return about how long the variant that `auto` chooses takes on a device, us."""
    chosen, table = choose(AUTO, problem, mask, None, device).variant, cost_table(device.kind)
    return table.time_us(chosen, problem, rates_of(device, table.rates), chosen.repeats_of(mask))


def holds_bound(candidate: Variant, problem: Problem, mask: Mask) -> bool:
    """Return whether a variant's results lie within the bound of a direct sum, whatever the picture.

    Two passes round more often than a direct sum of a few cells is granted
    (`engine.variants.ladder.separable`), and where samples are subnormal, which is granted to them and
    required of no picture here. A transform is sure where results are integers. A float32 picture
    may have NaN or infinity: its samples have not been read yet.
    """
    rows, columns = problem.mask_shape
    few_cells = min(rows, columns) == 2 and rows * columns <= 8
    if candidate.finite_only and problem.dtype == "float32":
        return False
    two_passes = candidate.masks is MaskClass.PRODUCTS
    return not (two_passes and few_cells) and candidate.added_error(problem, mask) == 0.0


def milliseconds(time_us: float) -> str:
    """Return a time in words."""
    time_ms = time_us / 1e3
    return f"{time_ms:,.0f} ms" if time_ms >= 10.0 else f"{time_ms:.2g} ms"


def why_faster(cpu_us: float, gpu_us: float, copies_us: float) -> Reason:
    """Return why a device was chosen for its whole call; copies are a part of the GPU's."""
    cpu, gpu, copies = map(milliseconds, (cpu_us, gpu_us, copies_us))
    gpu = f"{gpu}, {copies.removesuffix(' ms')} of them for copies"
    is_cpu = cpu_us <= gpu_us
    words = f"CPU: {cpu}; the GPU would need {gpu}" if is_cpu else f"GPU: {gpu}; the CPU would need {cpu}"
    return Reason("whole-call", words)


def cpu_call_us(problem: Problem, mask: Mask, cpu: DeviceInfo, slowness: float = 1.0) -> float:
    """Return about how long a call takes on a CPU whose cores need `slowness` times as long as ours, us."""
    chosen, direct = choose(AUTO, problem, mask, None, cpu).variant, variant("cpu-parallel")
    tiles = -(-problem.width * problem.channels // TILE_SAMPLES)
    bands = max(1, problem.height * tiles // BAND_ROWS)
    workers = min(workers_for(problem.multiply_adds, int(cpu.facts["cores"])), bands)
    rows, columns = problem.mask_shape
    per_sample = SAMPLE_NS + rows * (columns * MULTIPLY_ADD_NS + MASK_ROW_NS)
    per_row = ROW_NS + EDGE_ROW_NS * rows + EDGE_CELL_NS * rows * columns * problem.channels
    one_core_us = (problem.samples * per_sample + problem.height * tiles * per_row) / 1e3
    if chosen is not direct:
        # Two passes or running sums take a part of it, by the table.
        table, both = cost_table("cpu"), (chosen, direct)
        own, other = (table.time_us(one, problem, table.rates, one.repeats_of(mask)) for one in both)
        one_core_us *= own / other
    return CPU_CALL_US + OTHER_THREADS_US * (1 - 1 / workers) + slowness * one_core_us / workers
