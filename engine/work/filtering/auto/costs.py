"""What a filtering costs with each variant: measured times, interpolated, and scaled to a device.

`cost_table_cpu.json` and `cost_table_cuda.json` hold the kernel time of every variant on a grid of picture
sizes, mask sizes and kinds of samples and results, measured by `python -m bench.auto`, and the machine. CUDA
variants that load tiles have two such grids, with ghost cells and with mirrored ones: in a small picture
every tile touches an edge (256 x 256 float32, 9 x 9, `register-blocked`: 4.4 and 5.1 us). Between the points
times are straight lines of logarithms. A mask that is not square counts as a square one with as many cells,
or with as many rows and columns together, whichever the variant's time grows with. Rows of a few variants are
scaled by what random problems took (docs/experiments/auto.md).

On another machine the part that a copy of picture and result would take is scaled by the memory's bandwidth,
and the rest by the rate of multiply-adds. The error that remains is much the same for all variants, and
`auto` only compares.
"""

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from engine.device_info import DeviceInfo
from engine.files.reading import faults_of_asset
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import Growth, MaskClass, Variant

CORE_MULTIPLY_ADDS_G_S = 50.0
"""The rate of one CPU core, so that the rate of a table says how many it was measured with."""

MANY = 4
"""How often the inner work was done for the second of two rows of a variant; others lie on their line."""


class Rates(NamedTuple):
    """What a machine can do: bytes copied, read and written, GB/s, and multiply-adds of all cores, G/s."""

    copy_gb_s: float
    multiply_adds_g_s: float


_Line = tuple[float, tuple[float, ...], tuple[float, ...]]
"""The known times for pictures of one size, as natural logarithms: pixels, then mask sides and times."""


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
        """Return about how long a variant takes on a machine of these rates, in us; infinity if unknown.

        `repeats` is how often the mask has the inner work done (`Variant.repeats_of`).
        """
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
        """Return the time for a mask and a picture, by straight lines of logarithms along both axes.

        `slope` is that of the time over the mask's side after the last known side.
        """
        if (key, kind) not in self._lines:
            rows = zip(self.picture_sides, self.times_us[key][kind], strict=True)
            self._lines[key, kind] = [self._line(side, row) for side, row in rows if any(row)]
        lines = self._lines[key, kind]
        if not lines:
            return math.inf
        at = math.log(mask_side)
        logs = [_at(at, mask_logs, time_logs, slope) for _, mask_logs, time_logs in lines]
        return math.exp(_at(math.log(pixels), [line[0] for line in lines], logs, 1.0))

    def _line(self, picture_side: int, row: Sequence[float | None]) -> _Line:
        known = [
            (math.log(side), math.log(time)) for side, time in zip(self.mask_sides, row, strict=True) if time
        ]
        mask_logs, time_logs = zip(*known, strict=True)
        return 2 * math.log(picture_side), mask_logs, time_logs


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
    """Return the side of the square mask that costs a variant as much as the problem's mask.

    Variants for masks of one row were measured with rows of so many cells.
    """
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
    with faults_of_asset(path, "The table of times"):
        table = json.loads(path.read_text(encoding="utf-8"))
        return CostTable(
            Rates(**table["rates"]),
            tuple(table["picture_sides"]),
            tuple(table["mask_sides"]),
            table["times_us"],
        )


def rates_of(device: DeviceInfo, measured: Rates) -> Rates:
    """Return the rates of a device, estimated from its facts; without facts those of the measured machine.

    A CPU core counts as one of the measured ones; up to eight of them add bandwidth.
    """
    facts = device.facts
    if device.kind == "cpu":
        measured_cores = measured.multiply_adds_g_s / CORE_MULTIPLY_ADDS_G_S
        cores = int(facts.get("cores", str(round(measured_cores))))
        copy_gb_s = measured.copy_gb_s * min(cores, 8) / min(measured_cores, 8)
        return Rates(copy_gb_s, CORE_MULTIPLY_ADDS_G_S * cores)
    if "multiprocessors" not in facts or not device.bandwidth_gb_s:
        return measured
    clock_ghz = float(facts["clock"].split()[0]) / 1e3
    # A copy reaches about 85 % of the theoretical bandwidth; 128 multiply-adds a clock and multiprocessor.
    return Rates(0.85 * device.bandwidth_gb_s, int(facts["multiprocessors"]) * 128 * clock_ghz)
