"""One run of all rows: the pictures, the rounds, and what is kept of them."""

import datetime
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.whole.processes import ROOT, Spent, interleaved_runs
from bench.whole.rows import MAGICK, OURS, VIPS, Files, Row, installed, rows_of
from bench.whole.tables import ratios_of
from engine.process import cores

HISTORY = Path("bench/history-whole.jsonl")
PNG, JPEG = (1920, 1080), (4000, 3000)
QUICK_PNG, QUICK_JPEG = (480, 270), (800, 600)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is measured."""

    count: int = 20  # Pictures of the batch
    # Pictures of the batch whose memory stands beside that of one of 10, or of two for each core
    many: int = 100
    rounds: int = 7  # Runs of each process that count
    device: str = "auto"  # That ours are given
    peer_python: str = sys.executable  # The Python that has OpenCV
    is_quick: bool = False  # Small pictures, to see that everything works; the figures mean nothing


def measured(settings: Settings, only: Collection[str] = ()) -> dict[str, Any]:
    """Measure every row, or those with the keys `only`; return what was found, as plain data."""
    peers = installed(settings.peer_python)
    absent = {key: "not on PATH" for key in (VIPS, MAGICK) if key not in peers}
    found = []
    with tempfile.TemporaryDirectory() as name:
        sizes = (QUICK_PNG, QUICK_JPEG) if settings.is_quick else (PNG, JPEG)
        files = make_files(Path(name), *sizes)
        chosen = {name: getattr(settings, name) for name in ("count", "many", "rounds", "device")}
        for row in rows_of(files, peers, cores=cores(), **chosen):
            if only and row.key not in only:
                continue
            print(f"{row.title}: {', '.join(row.commands)}", flush=True)
            spent, failures = interleaved_runs(row.commands, row.rounds, counts_first=row.counts_first)
            if OURS in failures:
                raise SystemExit(f"{row.title}: {failures[OURS]}")
            absent |= failures
            found.append(_entry(row, spent))
    return about(settings.device) | {"quick": settings.is_quick, "absent": absent, "rows": found}


def _entry(row: Row, spent: dict[str, list[Spent]]) -> dict[str, Any]:
    fields = ("elapsed_s", "cpu_s", "system_s", "peak_bytes")
    contenders = {
        key: {name: [getattr(one, name) for one in runs] for name in fields} for key, runs in spent.items()
    }
    return {"key": row.key, "title": row.title, "contenders": contenders}


def make_files(folder: Path, png: tuple[int, int], jpeg: tuple[int, int]) -> Files:
    """Make the pictures, of (columns, rows)."""
    files = Files(folder / "picture.png", folder / "photo.jpg", folder, png, jpeg)
    for path, size in ((files.png, png), (files.jpeg, jpeg)):
        command = [sys.executable, "-m", "bench.whole.pictures", str(path), *map(str, size)]
        subprocess.run(command, cwd=ROOT, check=True)
    return files


def about(device: str) -> dict[str, Any]:
    """Return when and where; asked at the end, as what it imports would count as its children's memory."""
    from bench.peers.machine import describe, gpu_state
    from engine.device.device_list import commit, versions

    state = {} if device == "cpu" else gpu_state()
    machine = describe("cpu", cores(), {}) | {"state": state}
    if state:
        machine["device"] += f", {state['name']}"
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "machine": machine,
        "device": device,
        "versions": versions(),
    }


def record(run: dict[str, Any]) -> None:
    """Add the ratios of a run to the history."""
    # As in `about`.
    from bench.peers.summary import append

    append(line_of_ratios(run, ratios_of(run)), HISTORY)


def line_of_ratios(run: dict[str, Any], ratios: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return what a history keeps of a run with these ratios; `run` has what `about` returns."""
    line = {key: run[key] for key in ("date", "commit", "versions")}
    machine = {key: run["machine"][key] for key in ("device", "threads")}
    return line | machine | {"ratios": ratios}
