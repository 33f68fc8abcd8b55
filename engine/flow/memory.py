"""How much of a large picture is in memory at once: rows that are read, rows that are filtered, buffers."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.flow.plan import Plan
from engine.geometry.layout import FLOAT_BYTES
from engine.image.budget import bytes_text
from engine.image.large.source import LargePicture
from engine.image.large.storage import Storage
from engine.image.large.threads import core_count

# What is read at a time, and what is filtered at a time: more is no faster.
_READ_BYTES = 64 << 20
_BAND_BYTES = 32 << 20
# Chunks on a GPU: the ring of the stream has so many, twice as many are under way.
GPU_RING, GPU_CHUNK_BYTES = 3, 16 << 20
# What libraries take that the process has not loaded yet, and what its allocator keeps.
_LATER_BYTES = 160 << 20
_LATER_BYTES_ON_GPU = 900 << 20
# Where a system does not say what a process takes.
_USUAL_BYTES = 300 << 20


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Rows and buffers of a run.

    `step_rows` are read at a time, `band_rows` filtered at a time; `buffers` of the former and `values` of
    the latter exist at once; `needed_bytes` is the most that the process takes with all of them.
    """

    step_rows: int
    band_rows: int
    buffers: int
    values: int
    needed_bytes: int


def plan_memory(
    picture: LargePicture,
    work: Plan,
    storage: Storage,
    dtype: np.dtype[Any],
    memory: int | None,
    *,
    gpus: int,
    verify: bool,
) -> MemoryPlan:
    """Return the plan for a bound of memory, None for enough to be fast; refuse a bound below the least.

    The result is stored as `storage` says, in samples of a type, which may not be what the kernel writes.
    """
    problem, halo, task, width = work.problem, work.reach.height, work.job.task, picture.width
    between = task.between(work.job) if not gpus else 0
    proof_bytes = task.proof_rows * halo * width * problem.channels * FLOAT_BYTES if verify else 0
    rows_of_segment = picture.chunk[0]
    in_row = width * picture.channels * problem.itemsize
    value_row = width * problem.channels * problem.result_itemsize
    float_row = width * problem.channels * FLOAT_BYTES
    out_row = width * picture.channels * dtype.itemsize
    segment = rows_of_segment * picture.chunk[1] * picture.channels * problem.itemsize
    segment = max(segment, picture.segment_bytes)
    out_tile = storage.chunk[0] * storage.chunk[1] * picture.channels * dtype.itemsize
    fixed = proof_bytes + _resident_bytes() + (_LATER_BYTES_ON_GPU if gpus else _LATER_BYTES)
    fixed += min(storage.rows_at_once, picture.height) * out_row
    # Of what is decoded and encoded on threads, with the compressed bytes.
    fixed += 3 * core_count() * segment + 8 * core_count() * out_tile
    if storage.smallest is not None:  # rows while they are halved
        fixed += min(storage.rows_at_once, picture.height) * out_row
    if storage.kind == "zarr":
        fixed += 2 * min(storage.rows_at_once, picture.height) * out_row

    def plan(step_rows: int, band_rows: int) -> MemoryPlan:
        step_bytes = max(1, step_rows * in_row)
        band_bytes = max(GPU_CHUNK_BYTES, band_rows * max(in_row, value_row))
        # Of several GPUs whole bands wait for those before them.
        waiting = 2 * GPU_RING * gpus * (band_bytes if gpus > 1 else GPU_CHUNK_BYTES)
        under_way = 2 * GPU_RING * gpus * band_bytes
        buffers = 3 + -(-waiting // step_bytes)
        values = 2 * GPU_RING * gpus + 3
        # Colours without their alpha are copied, once for each result.
        copies = values if picture.channels > problem.channels else 0
        needed = fixed + buffers * (step_rows + 3 * halo) * in_row + values * (band_rows + halo) * value_row
        needed += copies * (band_rows + halo) * in_row
        needed += between * (band_rows + halo) * float_row
        needed += 2 * under_way
        return MemoryPlan(step_rows, band_rows, buffers, values, needed)

    # A band holds twice the mask's rows (`bands`), and so does a step.
    least_step = -(-4 * halo // rows_of_segment) * rows_of_segment
    least = plan(least_step, 2 * halo)
    step = max(least_step, _READ_BYTES // in_row // rows_of_segment * rows_of_segment)
    band = max(2 * halo, _BAND_BYTES // max(in_row, value_row))
    if memory is None:
        return plan(step, band)
    if least.needed_bytes > memory:
        raise BadValue(
            f"--memory {bytes_text(memory)}",
            f"filtering {picture.path.name} in bands takes {bytes_text(least.needed_bytes)} at least: "
            f"{least_step:,} rows of it at a time, which are stored together",
            f"Give --memory {_mebibytes(least.needed_bytes)}, or save it in smaller strips or tiles.",
        )
    while (found := plan(step, band)).needed_bytes > memory:
        # Of rows that are read and rows that are filtered, those that take more become fewer.
        in_bands = (found.values * value_row + between * float_row) * band
        if band > 2 * halo and (step == least_step or in_bands > found.buffers * in_row * step):
            band = max(2 * halo, band * 7 // 8)
        elif step > least_step:
            step = max(least_step, step * 7 // 8 // rows_of_segment * rows_of_segment)
        else:
            break
    return found


def _mebibytes(count: int) -> str:
    return f"{-(-count // (1 << 20))}M"


def _resident_bytes() -> int:
    """Return the most memory that this process had so far."""
    # Not `ru_maxrss` where this is: a new process has that of the one that started it.
    with suppress(OSError, StopIteration, ValueError), open("/proc/self/status", encoding="ascii") as lines:
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    if find_spec("resource") is None:  # Windows
        return _USUAL_BYTES
    resource = import_module("resource")
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def free_disk_words(needed: int, free: int, folder: os.PathLike[str]) -> str:
    """Return how much a disk has and how much is needed."""
    return f"the result takes about {bytes_text(needed)}, the disk of {folder} has {bytes_text(free)} free"


def stored_bytes(path: Path) -> int:
    """Return the bytes of a file, or of a store."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(
        os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names
    )
