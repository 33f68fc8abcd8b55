"""Whole calls beside other libraries: arrays go in, arrays come out, and everything between counts.

python -m bench.calls [--device cpu|gpu|arrays] [--quick] [--json FILE] [--history]
python -m bench.calls --device auto [--count N] [--seed N]

    cpu     host arrays, our CPU variants beside OpenCV with the same result type
    gpu     host arrays, our GPU variants beside CuPy and torch, each with its copies
    auto    random calls on both, and which of them `auto` took
    arrays  device arrays, results stay on the device, beside CuPy and torch

Every library filters the same arrays in turn, some calls in a row, and each call makes its result. The figure
is the median of a library's calls.
"""

import datetime
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import engine
from bench.calls.tables import title_of
from bench.options import parser_of
from bench.peers.machine import describe
from bench.peers.summary import Ratios, append
from bench.whole.session import about, line_of_ratios
from engine.geometry.border import Border

HISTORY = Path("bench/history-calls.jsonl")
CALLS = {"cpu": ("on_cpu", "calls_of"), "gpu": ("on_gpu", "host_calls"), "arrays": ("on_gpu", "array_calls")}
SIDES = (16, 64, 128, 256, 512, 1024, 2048, 4096)
MASKS = (3, 5, 7, 9, 11, 13, 15)
GPU_MASKS = (3, 5, 9, 15)
QUICK = {"cpu": ((16, 3), (64, 3), (512, 3), (1024, 5)), "gpu": ((64, 5), (1024, 9), (4096, 5))}
SECONDS_PER_CELL, MOST_CALLS, LEAST_CALLS = 0.6, 400, 9
CALLS_IN_A_ROW = 3
# Of `--device auto`.
WITHIN, SECONDS_PER_CHOICE = 1.15, 0.25
RANDOM_SIDES, MASK_SIDES = (16, 4096), (2, 31)
DTYPES = ("uint8", "uint16", "float32")


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("cpu", "gpu", "arrays", "auto"), default="cpu")
    parser.add_argument("--count", type=int, default=200, help="random calls of `--device auto`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a few cells")
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    parser.add_argument("--history", action="store_true", help=f"add the ratios on the CPU to {HISTORY}")
    options = parser.parse_args(arguments)
    if options.device == "auto":
        print(judged(options.count, options.seed))
        return 0
    cells = []
    for cell in cells_of(options.device, options.quick):
        cells.append(cell | {"us": measured(*cell.values(), options.device)})
        print(line_of(cells[-1]), flush=True)
    if options.history and options.device == "cpu":
        append(line_of_ratios(about("cpu"), ratios_of(cells)), HISTORY)
    verdict = summary(cells, options.device)
    if options.json:
        kind = "cpu" if options.device == "cpu" else "gpu"
        run = {
            "kind": options.device,
            "machine": describe(kind, 0, {})["device"],
            "date": f"{datetime.date.today()}",
            "cells": cells,
        }
        options.json.write_text(json.dumps(run, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    print(verdict)
    return 0


def cells_of(device: str, is_quick: bool) -> Iterable[dict[str, Any]]:
    """Yield side, mask side, sample type and channels of each cell."""
    kind = "cpu" if device == "cpu" else "gpu"
    masks = MASKS if kind == "cpu" else GPU_MASKS
    pairs = QUICK[kind] if is_quick else [(side, mask) for side in SIDES for mask in masks]
    for side, mask in pairs:
        for dtype in ("uint8", "float32"):
            for channels in (1, 3):
                yield {"side": side, "mask": mask, "dtype": dtype, "channels": channels}


def quick_ratios(keys: set[str]) -> Ratios:
    """Measure the quick cells of the CPU with these keys; return their ratios."""
    cells = [cell for cell in cells_of("cpu", True) if title_of(cell) in keys]
    return ratios_of([cell | {"us": measured(*cell.values(), "cpu")} for cell in cells])


def ratios_of(cells: list[dict[str, Any]]) -> Ratios:
    """Return how many times as long as ours OpenCV took in each cell."""
    return {title_of(cell): {"opencv": round(cell["us"]["opencv"] / cell["us"]["ours"], 4)} for cell in cells}


def measured(side: int, mask: int, dtype: str, channels: int, device: str) -> dict[str, float]:
    """Return the median time of a call of each library, us."""
    random = np.random.default_rng(side + mask)
    shape = (side, side) if channels == 1 else (side, side, channels)
    image = (random.random(shape) * 255).astype(dtype)
    weights = random.uniform(0.5, 1.5, (mask, mask)).astype(np.float32) / mask**2
    module, function = CALLS[device]
    calls = getattr(import_module(f"bench.calls.{module}"), function)(image, weights)
    for call in calls.values():
        call()
        call()
    return medians(calls, "ours", SECONDS_PER_CELL)


def medians(calls: Mapping[str, Callable[[], object]], counted: str, seconds: float) -> dict[str, float]:
    """Return the median time of each call, us, after many turns of them; those of one are counted."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    end, taken = time.perf_counter() + seconds, samples[counted]
    while len(taken) < LEAST_CALLS or (time.perf_counter() < end and len(taken) < MOST_CALLS):
        for name, call in calls.items():
            # What another library's call left in caches and in freed memory is not this one's.
            call()
            for _ in range(CALLS_IN_A_ROW):
                begin = time.perf_counter()
                call()
                samples[name].append(time.perf_counter() - begin)
    return {name: statistics.median(times) * 1e6 for name, times in samples.items()}


def judged(count: int, seed: int) -> str:
    """Measure so many random calls; return how often `auto` took the faster device, and where it did not."""
    random = np.random.default_rng(seed)
    ratios, lines, taken = [], [], {"cpu": 0, "cuda:0": 0}
    for _ in range(count):
        height, width = (int(side) for side in np.exp(random.uniform(*np.log(RANDOM_SIDES), 2)))
        channels = int(random.choice([1, 1, 3, 3, 4]))
        rows, columns = (int(side) for side in random.integers(*MASK_SIDES, 2, endpoint=True))
        dtype = DTYPES[random.integers(len(DTYPES))]
        image = (random.random((height, width, channels)) * 255).astype(dtype)
        mask = random.normal(size=(rows, columns))
        border = list(Border)[random.integers(len(Border))]
        result = "same" if random.random() < 0.5 else "float32"
        chosen = engine.plan(image, mask, border=border, result=result)
        calls = {
            device: partial(engine.plan(image, mask, border=border, result=result, device=device), image)
            for device in taken
        }
        times = medians(calls, "cpu", SECONDS_PER_CHOICE)
        ratio = times[chosen.device.key] / min(times.values())
        ratios.append(ratio)
        taken[chosen.device.key] += 1
        if ratio > WITHIN:
            size = f"{height} × {width} × {channels} {dtype} to {result}, {rows} × {columns} {border}"
            measured = ", ".join(f"{device} {time_us:,.0f} us" for device, time_us in times.items())
            lines.append(f"{ratio:5.2f}  {size}: {measured}; {chosen.reason and chosen.reason.short}")
    within = sum(ratio <= WITHIN for ratio in ratios)
    share = f"{within} of {count} calls within {WITHIN} of the faster device"
    head = f"{share}, worst {max(ratios):.2f}; took {taken}"
    return "\n".join([head, *sorted(lines, reverse=True)])


def line_of(cell: dict[str, Any]) -> str:
    """Return a cell in words."""
    times = "  ".join(f"{name} {time:9,.1f}" for name, time in cell["us"].items())
    return f"{title_of(cell):40} {times}  us"


def summary(cells: list[dict[str, Any]], device: str) -> str:
    """Return in how many cells our call is within the limits that `docs/performance.md` names."""
    limits = [limit_us(cell, device) for cell in cells]
    missed = [
        f"{line_of(cell)}, limit {limit:,.1f}"
        for cell, limit in zip(cells, limits, strict=True)
        if cell["us"]["ours"] > limit
    ]
    return "\n".join([f"{len(cells) - len(missed)} of {len(cells)} cells within their limits", *missed])


def limit_us(cell: dict[str, Any], device: str) -> float:
    """Return what our call may take in a cell, us."""
    times = cell["us"]
    if device != "cpu":
        return min(times["cupy"], times["torch"])
    if cell["side"] <= 64:
        return 25.0
    if cell["side"] < 1024:
        return max(1.2 * times["opencv"], times["opencv"] + 20)
    is_copy = cell["dtype"] == "float32" and cell["mask"] == 3
    return 1.2 * times["copy"] if is_copy else times["opencv"]


if __name__ == "__main__":
    sys.exit(main())
