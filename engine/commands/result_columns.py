"""What the files of results have in common: the machine, columns of times and of the machine, CSV text."""

import csv
import io
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from engine.device.devices import devices
from engine.device.versions import commit, versions
from engine.device_info import Environment
from engine.results.measurement import Spread, Timing
from engine.results.spreadsheet import harmless

Cell = str | float | int | None


def machine_document() -> dict[str, Any]:
    """Return the machine, its devices and the versions as plain data."""
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "versions": versions(),
        "commit": commit(),
        "devices": [asdict(device) for device in devices()],
    }


def csv_text(rows: Sequence[dict[str, Cell]]) -> str:
    """Return rows with the same columns as CSV; text that a spreadsheet could take for a formula gets a leading '."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in row.values()])
    return text.getvalue()


def timing_columns(timing: Timing | None) -> dict[str, Cell]:
    """Return the durations under the names of their columns; None each without a timing."""
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


def environment_columns(environment: Environment) -> dict[str, Cell]:
    """Return the machine and the versions behind one result under the names of their columns."""
    return {
        "device_name": environment.device,
        "driver": environment.driver,
        "clocks": environment.clocks,
        "versions": ", ".join(f"{name} {version}" for name, version in environment.versions.items()),
        "commit": environment.commit,
    }


def _spread(name: str, spread: Spread | None) -> dict[str, Cell]:
    return {
        f"{name}_median_ms": spread.median_ms if spread else None,
        f"{name}_p20_ms": spread.p20_ms if spread else None,
        f"{name}_p80_ms": spread.p80_ms if spread else None,
        f"{name}_minimum_ms": spread.minimum_ms if spread else None,
    }
