"""The bounds of runs beside their times: does the highest bound explain a run, and is none above its time?

    python -m bench.bounds --device cpu --json bench/results/bounds-cpu.json
    python -m bench.bounds --device gpu --json bench/results/bounds-gpu.json      adds what it lacks

60 cells of the CPU variants: sizes, masks and types of samples in turn, off the grid that `auto` knows.
Limits and times are measured in the same rounds, each cell a few launches a round; of a limit the highest
rate counts, of a cell the shortest time, so that what else the machine does spoils neither. With
`NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` code for another processor is measured, which the file keeps beside
the first. On a machine where nothing else runs; a minute. Where something does, `--more` adds rounds to those
that the file has, at quiet moments.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial, reduce
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from bench.figures import MASK_SIDES, SIDE
from bench.markers import DocumentTable
from bench.options import parser_of
from bench.representative import filter_job, mask_for
from engine.compiled.machine_code import cpu_target
from engine.device.device_list import cpu_info
from engine.device.devices import backend
from engine.device.launches import DeviceKind
from engine.device_info import DeviceInfo
from engine.explain.device_limits import MOST_SHARE, DeviceLimits
from engine.explain.gpu_limits_code import gpu_limits
from engine.explain.launches import ABSENT_GPUS, DEFAULT
from engine.explain.measured_cpu import cpu_limits
from engine.explain.why import LEAST_SHARE, explained_by
from engine.mask.mask import Mask
from engine.run.measure import SamplingPlan, measure
from engine.work.filter_task import MaskJob
from engine.work.filtering.variants import VARIANTS, MaskClass, variant

_PLAN = SamplingPlan(warm_up_s=0.03, budget_s=0.08, patience_s=1.0)

ROUNDS, LAUNCHES, LAUNCHES_S = 12, 3, 0.012

_TYPES = (("float32", "float32"), ("uint8", "float32"), ("uint8", "uint8"), ("uint16", "float32"))
_SMALL = ((199, 257, 1), (120, 161, 3), (333, 250, 1))
_LARGE = ((480, 640, 1), (700, 1000, 3), (1080, 1920, 1), (333, 777, 4), (1536, 2048, 1))
# By variant: sizes that are filtered in some milliseconds, masks, and how often each.
_GRID: dict[str, tuple[tuple[tuple[int, int, int], ...], tuple[tuple[int, int], ...], int]] = {
    "cpu-serial": (_SMALL, ((3, 3), (5, 5), (4, 6), (9, 9)), 2),
    "cpu-separable-serial": (_SMALL, ((3, 3), (5, 5), (9, 9), (15, 15)), 2),
    "cpu-parallel": (_LARGE, ((3, 3), (5, 5), (4, 6), (7, 3), (1, 9), (7, 7), (9, 9), (11, 11), (17, 17)), 2),
    "cpu-separable": (_LARGE, ((3, 3), (5, 5), (7, 7), (9, 9), (11, 5), (15, 15), (21, 21), (31, 31)), 2),
    "cpu-box": (_LARGE, ((3, 3), (15, 15), (63, 63)), 2),
    "cpu-fft": (_LARGE[:2], ((17, 17), (31, 31)), 2),
}


class Cell(NamedTuple):
    """A run that is measured."""

    variant: str
    height: int
    width: int
    channels: int
    mask: tuple[int, int]
    dtype: str
    result: str

    def job(self, samples: np.ndarray | None = None) -> MaskJob:
        """Return what is measured and explained; without samples of a picture that takes no memory."""
        chosen = variant(self.variant, takes_auto=False)
        mask = mask_for(chosen, *self.mask)
        if chosen.device is DeviceKind.CPU and chosen.masks is MaskClass.ANY:
            mask = Mask(np.random.default_rng(7).standard_normal(self.mask) / 10)
        if samples is None:
            samples = np.broadcast_to(np.zeros((), self.dtype), (self.height, self.width, self.channels))
        return filter_job(chosen, mask, samples, out=self.result)

    def picture(self) -> np.ndarray:
        """Return a picture of noise."""
        largest = 1.0 if self.dtype == "float32" else np.iinfo(self.dtype).max
        noise = np.random.default_rng(8).random((self.height, self.width, self.channels), np.float32)
        return (noise * np.float32(largest)).astype(self.dtype)


def cell_of(row: dict[str, Any]) -> Cell:
    """Return the cell of a row of the file."""
    return Cell(**{name: row[name] for name in Cell._fields} | {"mask": tuple(row["mask"])})


def cells() -> Iterator[Cell]:
    """Yield the cells: the types and sizes of each variant in turn."""
    for key, (sizes, masks, times) in _GRID.items():
        types = [
            one for one in _TYPES if one[1] == "float32" or variant(key, takes_auto=False).integer_output
        ]
        size, kinds = cycle(sizes), cycle(types)
        for _ in range(times):
            for mask in masks:
                yield Cell(key, *next(size), mask, *next(kinds))
            # Else each mask would have the same size and types again.
            next(kinds)


def measured_on_cpu(rounds: int, kept: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the cells with their times and bounds, and the limits of this processor, of kept rounds too."""
    jobs = {cell: cell.job() for cell in cells()}
    launches = {cell: _launch(cell, job) for cell, job in jobs.items()}
    found: list[DeviceLimits] = []
    least = dict.fromkeys(launches, float("inf"))
    if kept:
        found = [msgspec.convert(kept["limits"], DeviceLimits)]
        least |= {cell_of(row): row["ms"] for row in kept["cells"]}
    for number in range(rounds):
        found.append(cpu_limits())
        for cell, launch in launches.items():
            least[cell] = min(least[cell], _least_ms(launch))
        print(f"round {number + 1} of {rounds}", flush=True)
    limits = reduce(DeviceLimits.or_more, found)
    rows = [cell._asdict() | row(jobs[cell], cpu_info(), limits, ms) for cell, ms in least.items()]
    target = cpu_target()
    return {
        "processor": dict(cpu_info().facts),
        "compiled for": target.name,
        "vector_bits": limits.vector_bits,
        "rounds": rounds + (kept["rounds"] if kept else 0),
        "limits": asdict(limits),
        "cells": rows,
    }


def measured_on_gpu(kept: dict[str, Any] | None) -> dict[str, Any]:
    """Return the cells of `bench.figures` and the limits of this GPU; what is kept stays as it is."""
    machine = backend("cuda:0")
    limits = msgspec.convert(kept["limits"], DeviceLimits) if kept else gpu_limits(machine)
    rows: list[dict[str, Any]] = list(kept["cells"]) if kept else []
    known = set(map(cell_of, rows))
    for cell in gpu_cells():
        if cell in known:
            continue
        job = cell.job(cell.picture())
        result = measure(job, machine, _PLAN).result
        if result.kernel_ms is None:
            print(f"{cell.variant} {cell.mask} {cell.dtype}: {result.status}", flush=True)
            continue
        rows.append(cell._asdict() | row(job, machine.info, limits, result.kernel_ms))
        print(next(lines(rows[-1:])), flush=True)
    return {
        "processor": {"device": machine.info.title},
        "compiled for": "executed PTX",
        "vector_bits": 0,
        "limits": asdict(limits),
        "cells": rows,
    }


def bounded_again(kept: dict[str, Any]) -> dict[str, Any]:
    """Return a GPU's run with the bounds of now beside its times; no device is needed."""
    limits, rows = msgspec.convert(kept["limits"], DeviceLimits), []
    for one in kept["cells"]:
        cell = cell_of(one)
        rows.append(cell._asdict() | row(cell.job(), ABSENT_GPUS[DEFAULT], limits, one["ms"]))
    return kept | {"compiled for": "executed PTX", "cells": rows}


def gpu_cells() -> Iterator[Cell]:
    """Yield the cells of a GPU: every variant, masks and types as `bench.figures` has them."""
    for height, width, channels, dtype in ((SIDE, SIDE, 1, "float32"), (SIDE, SIDE, 3, "uint8")):
        for one in VARIANTS:
            if one.device is DeviceKind.CUDA and not one.uint8_only:
                for side in MASK_SIDES:
                    yield Cell(one.key, height, width, channels, (side, side), dtype, "float32")


def _launch(cell: Cell, job: MaskJob) -> Callable[[], object]:
    """Return what filters a picture of noise."""
    image = cell.picture()
    return partial(job.prepare().launch, image, np.empty(image.shape, job.problem.result_dtype))


def _least_ms(launch: Callable[[], object]) -> float:
    begin, samples = time.perf_counter(), list[float]()
    while len(samples) < LAUNCHES or time.perf_counter() - begin < LAUNCHES_S:
        before = time.perf_counter()
        launch()
        samples.append(time.perf_counter() - before)
    return 1e3 * min(samples)


def row(job: MaskJob, device: DeviceInfo, limits: DeviceLimits, ms: float) -> dict[str, Any]:
    """Return what the file keeps of a cell's bounds."""
    # Without the time: a limit that the run exceeds would be left out, and the table is to show it.
    found, _ = explained_by(job, device, limits, None)
    return {
        "ms": round(ms, 5),
        "bounds_ms": {bound.key: round(bound.ms, 5) for bound in found.bounds},
        "least_ms": round(found.least_ms, 5),
        "ratio": round(found.least_ms / ms, 3),
    }


def summary(rows: list[dict[str, Any]]) -> str:
    """Return how many cells the bounds explain, and in how many they are above the time."""
    ratios = [one["ratio"] for one in rows]
    within = sum(map(_explains, ratios))
    above = sum(one > MOST_SHARE for one in ratios)
    part = within / len(ratios)
    return (
        f"{within} of {len(ratios)} cells ({part:.0%}) between {LEAST_SHARE} and 1 of the time, "
        f"{above} above {MOST_SHARE}; median {np.median(ratios):.2f}"
    )


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each cell."""
    for one in rows:
        size = f"{one['width']} × {one['height']} × {one['channels']}"
        mask = " × ".join(map(str, one["mask"]))
        bounds = "  ".join(f"{key} {ms / one['ms']:.2f}" for key, ms in one["bounds_ms"].items())
        what = f"{one['variant']:21}{size:17}{mask:8}{one['dtype']:8} to {one['result']:8}"
        yield f"{what}{one['ms']:9.3f} ms {one['ratio']:6.2f}   {bounds}"


def tables(kept: dict[str, Any]) -> list[DocumentTable]:
    """Return for each variant how much of the time its bounds reach."""
    is_gpu = not kept["runs"][0]["vector_bits"]
    rows = [
        f"| {'by' if is_gpu else 'code for vectors of'} | variant | cells | 0.5 to 1 of the time | least "
        "| median | most |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in kept["runs"]:
        by_variant: dict[str, list[float]] = {}
        for one in run["cells"]:
            by_variant.setdefault(one["variant"], []).append(one["ratio"])
        by_variant["all"] = [ratio for ratios in by_variant.values() for ratio in ratios]
        code = run["compiled for"] if is_gpu else f"{run['vector_bits']} bits"
        for key, ratios in by_variant.items():
            within = sum(map(_explains, ratios))
            numbers = " | ".join(f"{one:.2f}" for one in (min(ratios), np.median(ratios), max(ratios)))
            name = key if key == "all" else f"`{key}`"
            rows.append(f"| {code} | {name} | {len(ratios)} | {within} | {numbers} |")
    return [DocumentTable(Path("docs/bounds.md"), f"bounds:{'gpu' if is_gpu else 'cpu'}", rows)]


def _explains(ratio: float) -> bool:
    return LEAST_SHARE <= ratio <= 1


def _save(path: Path, run: dict[str, Any]) -> None:
    """Keep a run, a line a cell, beside those of other vectors."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    runs = [one for one in runs if one["vector_bits"] != run["vector_bits"]] + [run]
    texts = []
    for one in sorted(runs, key=lambda kept: -int(kept["vector_bits"])):
        about = json.dumps({name: value for name, value in one.items() if name != "cells"})
        rows = ",\n".join(json.dumps(kept) for kept in one["cells"])
        texts.append(f'{about[:-1]}, "cells": [\n{rows}\n]}}')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"runs": [\n' + ",\n".join(texts) + "\n]}\n", encoding="utf-8")


def main() -> None:
    """Measure, print and keep."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path, help="the file that the run is kept in")
    parser.add_argument("--more", action="store_true", help="CPU: add rounds to those that the file has")
    parser.add_argument("--again", action="store_true", help="only bound the kept times of a GPU anew")
    options = parser.parse_args()
    if options.again:
        run = bounded_again(json.loads(options.json.read_text(encoding="utf-8"))["runs"][0])
    elif options.device == "cpu":
        bits = 32 * cpu_target().vector_floats
        runs = json.loads(options.json.read_text(encoding="utf-8"))["runs"] if options.more else []
        run = measured_on_cpu(options.rounds, next((one for one in runs if one["vector_bits"] == bits), None))
    else:
        is_there = options.json and options.json.exists()
        run = measured_on_gpu(json.loads(options.json.read_text())["runs"][0] if is_there else None)
    print("\n".join(lines(run["cells"])))
    print(summary(run["cells"]))
    if options.json:
        _save(options.json, run)


if __name__ == "__main__":
    main()
