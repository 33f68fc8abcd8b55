"""One line per run: how many times faster than each peer we were. Never absolute times."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.summary import ratios

HISTORY = Path("bench/history.jsonl")
ALLOWED_FALL = 0.10

Ratios = dict[str, dict[str, float]]
"""{cell: {contender: the peer's median over ours}}"""


@dataclass(frozen=True)
class Fall:
    """A ratio to a peer that is more than 10 % below the recorded one."""

    cell: str
    peer: str
    recorded: float
    measured: float


def ratios_of(cells: dict[str, dict[str, Any]]) -> Ratios:
    """Return the ratios of a run's cells, those that have any."""
    return {
        key: {name: round(ratio, 4) for name, ratio in found.items()}
        for key, entry in cells.items()
        if (found := ratios(entry))
    }


def line_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return what the history keeps of a run."""
    versions = {key: about["versions"] for key, about in run["libraries"].items()}
    return {
        "date": run["date"],
        "commit": run["commit"],
        "device": run["machine"]["device"],
        "threads": run["machine"]["threads"],
        "grid": run["grid"],
        "versions": versions,
        "ratios": ratios_of(run["cells"]),
    }


def append(line: dict[str, Any], history: Path = HISTORY) -> None:
    """Add a line."""
    with history.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def last_of(device: str, threads: int, history: Path = HISTORY) -> dict[str, Any] | None:
    """Return the last line of a device with as many threads; None where there is none."""
    if not history.exists():
        return None
    lines = [json.loads(text) for text in history.read_text(encoding="utf-8").splitlines() if text.strip()]
    same = [line for line in lines if line["device"] == device and line["threads"] == threads]
    return same[-1] if same else None


def falls(recorded: Ratios, measured: Ratios) -> list[Fall]:
    """Return the ratios that fell by more than a tenth, of the cells and peers that both have."""
    return [
        Fall(cell, peer, before, now)
        for cell, peers in recorded.items()
        for peer, before in peers.items()
        if (now := measured.get(cell, {}).get(peer)) is not None and now < before * (1 - ALLOWED_FALL)
    ]


def compared(recorded: Ratios, measured: Ratios) -> int:
    """Return how many ratios both have."""
    return sum(len(peers.keys() & measured.get(cell, {}).keys()) for cell, peers in recorded.items())
