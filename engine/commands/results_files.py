"""The files that a benchmark writes: results as strict JSON with every sample, and as CSV for spreadsheets."""

import csv
import io
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from engine.commands.sweep import Sweep
from engine.device.devices import devices
from engine.device.versions import commit, versions
from engine.results import RunResult, Spread

FORMAT, VERSION = "haloscope-results", 1

Cell = str | float | int | None

UNITS = {
    "names that end in _ms": "milliseconds",
    "height, width, checked_pixels, total_pixels": "pixels",
    "max_error, bound, cval": "units of the picture's samples",
    "block": "threads across (x) and down (y)",
    "speed_up": "median kernel time of the baseline over that of this result, same problem; "
    "null where either has no speed",
}

# What a spreadsheet would take for a formula, or strip to get at one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def results_document(
    sweep: Sweep, baseline: str, results: Sequence[RunResult], faster: Sequence[float | None]
) -> dict[str, Any]:
    """Return everything about a benchmark as plain data.

    Parameters
    ----------
    sweep : Sweep
    baseline : str
        Key of a variant.
    results : sequence of RunResult
    faster : sequence of float or None
        The speed-up of each result.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "units": UNITS,
        "baseline": baseline,
        "sweep": {
            "variants": [variant.key for variant in sweep.variants],
            "sizes": [{"width": width, "height": height} for width, height in sweep.sizes],
            "masks": [{"rows": rows, "columns": columns} for rows, columns in sweep.masks],
            "blocks": [asdict(block) for block in sweep.blocks],
            "border": str(sweep.border),
            "device": sweep.device,
            "channels": sweep.channels,
            "dtype": sweep.dtype,
            "seed": sweep.seed,
            "budget_s": sweep.budget_s,
        },
        "environment": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "versions": versions(),
            "commit": commit(),
            "devices": [asdict(device) for device in devices()],
        },
        "results": [
            result.as_json() | {"speed_up": ratio} for result, ratio in zip(results, faster, strict=True)
        ],
    }


def results_csv(baseline: str, results: Sequence[RunResult], faster: Sequence[float | None]) -> str:
    """Return the results as CSV with units in the header; raw samples are in the JSON only.

    A cell without a value is empty, and `status` says why. Text that a spreadsheet could take for a formula gets a
    leading '.
    """
    rows = [_row(result) | {"speed_up": ratio} for result, ratio in zip(results, faster, strict=True)]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*rows[0], "baseline"])
    for row in rows:
        writer.writerow([_harmless(cell) for cell in (*row.values(), baseline)])
    return text.getvalue()


def _row(result: RunResult) -> dict[str, Cell]:
    problem, proof, environment = result.problem, result.verification, result.environment
    return {
        "variant": result.variant,
        "device": result.device,
        "block_x_threads": result.block.x if result.block else None,
        "block_y_threads": result.block.y if result.block else None,
        "width_px": problem.width,
        "height_px": problem.height,
        "channels": problem.channels,
        "dtype": problem.dtype,
        "mask": result.mask_name,
        "mask_rows": problem.mask_shape[0],
        "mask_columns": problem.mask_shape[1],
        "border": str(problem.border),
        **_times(result),
        "verified": "yes" if proof and proof.passed else "no",
        "max_error": proof.max_error if proof else None,
        "error_bound": proof.bound if proof else None,
        "status": result.status,
        "seed": result.seed,
        "device_name": environment.device,
        "driver": environment.driver,
        "clocks": environment.clocks,
        "versions": ", ".join(f"{name} {version}" for name, version in environment.versions.items()),
        "commit": environment.commit,
    }


def _times(result: RunResult) -> dict[str, Cell]:
    timing = result.timing if result.kernel_ms is not None else None
    return {
        **_spread("kernel", timing.kernel if timing else None),
        **_spread("end_to_end", timing.end_to_end if timing else None),
        **_spread("host_to_device", timing.host_to_device if timing else None),
        **_spread("device_to_host", timing.device_to_host if timing else None),
        "compile_ms": timing.compile_ms if timing else None,
        "allocate_ms": timing.allocate_ms if timing else None,
        "samples": len(timing.kernel.samples_ms) if timing else None,
        "clock": timing.clock if timing else None,
        "cache": timing.cache if timing else None,
    }


def _spread(name: str, spread: Spread | None) -> dict[str, Cell]:
    return {
        f"{name}_median_ms": spread.median_ms if spread else None,
        f"{name}_p20_ms": spread.p20_ms if spread else None,
        f"{name}_p80_ms": spread.p80_ms if spread else None,
        f"{name}_minimum_ms": spread.minimum_ms if spread else None,
    }


def _harmless(cell: Cell) -> Cell:
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell
