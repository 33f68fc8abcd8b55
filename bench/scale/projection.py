"""Workers that are not here: the simulation from the measured rates, with assumptions, which are named."""

import itertools
import json
from pathlib import Path
from typing import Any

from bench.scale.model import Cluster, Run, Task, limit_of, simulated

WORKERS = (1, 10, 100, 1000)
SIDES = (512, 1024, 2048, 4096, 8192)
NETWORKS = (1, 10, 25, 100)
"""Gbit/s of the storage, of all workers together: assumed."""
LINK = {"cpu": 10, "gpu": 100}
"""Gbit/s of one worker's own connection, at most: assumed."""
SCHEDULER_S = 200e-6
"""What a task costs Dask's scheduler: as its documentation says."""
GPU_CORES = 16
"""Cores beside each GPU, which decode and encode while it filters: assumed."""
KINDS = ("cpu", "gpu")
MASKS = (5, 15)
GBIT = 1e9 / 8
TERAPIXEL = 1e12


def gpu_call_ns() -> dict[str, float]:
    """Return ns of a pixel in a call on a GPU with both copies, recorded: float32, 4096 x 4096."""
    cells = json.loads(Path("bench/results/calls-gpu.json").read_text(encoding="utf-8"))["cells"]
    return {
        str(cell["mask"]): cell["us"]["ours"] * 1e3 / cell["side"] ** 2
        for cell in cells
        if cell["side"] == 4096 and cell["dtype"] == "float32" and cell["channels"] == 1
        if cell["mask"] in MASKS
    }


def gpu_kernel_ns() -> dict[str, float]:
    """Return ns of a pixel in the kernel alone, recorded: the picture stays in the GPU's memory."""
    kept = json.loads(Path("bench/results/figures-h200.json").read_text(encoding="utf-8"))
    cells = kept["variants"]["register-blocked"]["float32, 1 channel"]
    return {str(mask): cells[str(mask)]["kernel_us"] * 1e3 / 4096**2 for mask in MASKS}


def worker_ns(kept: dict[str, Any], kind: str, mask: int) -> dict[str, float]:
    """Return ns of a pixel for each part of a chunk's way through a worker.

    A worker is a core; or a GPU with cores, whose parts run beside each other.
    """
    core = kept["rates"]["core"]
    decode, encode = core["decode"]["zarr"], core["encode"]["zarr"]
    if kind == "cpu":
        return {"decode": decode, "kernel": core["kernel"][str(mask)], "encode": encode}
    return {
        "decode": decode / GPU_CORES,
        "kernel": kept["gpu_call_ns"][str(mask)],
        "encode": encode / GPU_CORES,
    }


def task_s(kept: dict[str, Any], kind: str, mask: int, side: int) -> float:
    """Return the seconds that a chunk takes of a worker, without its transfers."""
    parts = worker_ns(kept, kind, mask)
    # Decoding and encoding take the same cores.
    ns = sum(parts.values()) if kind == "cpu" else max(parts["kernel"], parts["decode"] + parts["encode"])
    fixed_s = kept["rates"]["core"]["chunk_s"] + kept["tasks_per_chunk"] * kept["task"]["worker_s"]
    if kind == "gpu":
        fixed_s /= GPU_CORES
    return fixed_s + 1e-9 * ns * (side + mask - 1) ** 2


def run_of(kept: dict[str, Any], kind: str, mask: int, side: int, workers: int, network: int) -> Run:
    """Return the simulated run of 20 chunks a worker; a chunk's edges come from its neighbours' workers."""
    stored = kept["rates"]["core"]["bytes"]["zarr"]
    edges = 4 * ((side + mask - 1) ** 2 - side**2)
    task = Task(stored * side**2 + edges, task_s(kept, kind, mask, side), stored * side**2)
    cluster = Cluster(SCHEDULER_S * kept["tasks_per_chunk"], network * GBIT, LINK[kind] * GBIT)
    return simulated(20 * workers, workers, task, cluster)


def projected(kept: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each number of workers does with each chunk and network."""
    found = []
    for kind, mask, side, workers, network in itertools.product(KINDS, MASKS, SIDES, WORKERS, NETWORKS):
        run = run_of(kept, kind, mask, side, workers, network)
        limit = limit_of(run)
        if limit == "workers":
            parts = worker_ns(kept, kind, mask)
            limit = max(parts, key=lambda part: parts[part])
        found.append(
            {
                "kind": kind,
                "mask": mask,
                "side": side,
                "workers": workers,
                "network": network,
                "limit": limit,
                "pixels_per_s": 20 * workers * side**2 / run.elapsed_s,
            }
        )
    return found


def least_side(kept: dict[str, Any], kind: str, mask: int, workers: int) -> int:
    """Return the smallest power of two from 512 on whose chunk takes ten times the scheduler's time."""
    scheduler_s = SCHEDULER_S * kept["tasks_per_chunk"]
    side = 512
    while task_s(kept, kind, mask, side) < 10 * workers * scheduler_s:
        side *= 2
    return side
