"""What a run's figures say: the limit of each cell, the share that was reached, and the lead over peers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.cells import Cell

OURS = "haloscope"
LIMIT = "limit"
AUTO = "auto"


@dataclass(frozen=True)
class Entry:
    """A library of the benchmark."""

    key: str  # Name in files: "opencv"; ours is "haloscope", what measures the limits "limit"
    title: str  # Name for people
    file: str  # In `libraries`

    @property
    def is_peer(self) -> bool:
        """Whether it is neither ours nor a limit: it may run in another Python."""
        return self.key not in (OURS, LIMIT)


ROSTERS = {
    "gpu": (
        Entry(LIMIT, "limit", "device_limits"),
        Entry(OURS, "Haloscope", "haloscope_cuda"),
        Entry("torch", "torch (cuDNN)", "torch_cuda"),
        Entry("cupy", "CuPy", "cupy_ndimage"),
        Entry("npp", "NPP", "npp"),
    ),
    "cpu": (
        Entry(LIMIT, "limit", "host_copy"),
        Entry(OURS, "Haloscope", "haloscope_cpu"),
        Entry("opencv", "OpenCV", "opencv"),
        Entry("torch", "torch", "torch_cpu"),
        Entry("scipy", "SciPy", "scipy_ndimage"),
        Entry("scikit-image", "scikit-image", "scikit_image"),
        Entry("pillow", "Pillow", "pillow_kernel"),
    ),
}


def name_of(key: str, method: str) -> str:
    """Return the name of a contender, a library's way to filter: "opencv filter2D"."""
    return f"{key} {method}"


OURS_AUTO = name_of(OURS, AUTO)
COPY = name_of(LIMIT, "copy")


def median_ms(entry: dict[str, Any], contender: str) -> float | None:
    """Return a contender's median in a cell's entry, ms; None where it has no time."""
    return entry["contenders"].get(contender, {}).get("median_ms")


def limits_of(run: dict[str, Any]) -> dict[str, Any]:
    """Return the notes of what measured the limits, with "copies": bytes of a picture, bytes per second.

    Only of those that the L2 cache is known to have had no part in. A driver's copy of 1 GiB may be slower
    than one of a quarter of it (H200: 2.8 and 4.2 TB/s); that is no limit of a kernel.
    """
    notes: dict[str, Any] = dict(run["libraries"].get(LIMIT, {}).get("notes", {}))
    copies = []
    for entry in run["cells"].values():
        copy, picture_bytes = median_ms(entry, COPY), Cell.from_json(entry["cell"]).picture_bytes
        if copy and picture_bytes > 2 * notes.get("l2_bytes", float("inf")):
            copies.append((picture_bytes, 2 * picture_bytes / (copy * 1e-3)))
    return notes | {"copies": copies}


def limit_ms(entry: dict[str, Any], limits: dict[str, Any]) -> float | None:
    """Return what no direct filter of the cell can be faster than, ms; None where nothing was measured.

    max(copy, multiply-adds / rate): the faster one of a copy of this very picture in this run and of its
    bytes at the bandwidth of a smaller one's copy; the multiply-adds of one pass, or of two where the mask
    has rank 1, at the device's theoretical rate. Where no rate is known (a CPU) it is the copy; of 8-bit
    pictures too, whose products tensor cores form.

    `entry`: the entry of one cell. `limits`: as `limits_of` gives them.
    """
    cell = Cell.from_json(entry["cell"])
    copy = median_ms(entry, COPY)
    if copy is None:
        return None
    # A larger picture need not be copied slower than a smaller one was; a smaller one has a launch to pay
    # for, too.
    for copied_bytes, bytes_per_s in limits.get("copies", ()):
        if copied_bytes <= cell.picture_bytes:
            copy = min(copy, 2 * cell.picture_bytes / bytes_per_s * 1e3)
    rate = limits.get("multiply_adds_per_s")
    if cell.dtype == "uint8":
        rate = None
    counted = cell.separable_multiply_adds if cell.kind == "gaussian" else cell.multiply_adds
    return max(copy, counted / rate * 1e3) if rate else copy


def contenders_of(entries: list[dict[str, Any]]) -> list[str]:
    """Return the contenders that take part in any of these cells: ours first, then peers; no limits."""
    names = list(dict.fromkeys(name for entry in entries for name in entry["contenders"]))
    names = [name for name in names if not name.startswith(f"{LIMIT} ")]
    return sorted(names, key=lambda name: not name.startswith(f"{OURS} "))


def peers_of(entry: dict[str, Any]) -> dict[str, float]:
    """Return the medians of the peers that have one, ms."""
    return {
        name: found["median_ms"]
        for name, found in entry["contenders"].items()
        if "median_ms" in found and not name.startswith((f"{OURS} ", f"{LIMIT} "))
    }


def ratios(entry: dict[str, Any]) -> dict[str, float]:
    """Return how many times faster than each peer `auto` is in a cell; empty where `auto` has no time."""
    if median_ms(entry, OURS_AUTO) is None:
        return {}
    return {name: entry["contenders"][name]["over_auto"] for name in peers_of(entry)}


def behind_best(entry: dict[str, Any]) -> float | None:
    """Return how many times slower `auto` is than the best of our variants in a cell."""
    ours = {
        name: found["median_ms"]
        for name, found in entry["contenders"].items()
        if "median_ms" in found and name.startswith(f"{OURS} ")
    }
    return ours[OURS_AUTO] / min(ours.values()) if OURS_AUTO in ours else None


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
