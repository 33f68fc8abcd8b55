"""How much of a large picture is in memory at once: bands that are read, filtered and written."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from engine.cores import cores
from engine.errors import BadValue
from engine.geometry.layout import FLOAT_BYTES
from engine.image.form import bytes_text
from engine.image.large.source import LargePicture, Storage
from engine.work.resolve import Resolved

# What is filtered at a time, and what is read ahead: more is no faster.
_BAND_BYTES = 32 << 20
_AHEAD_BYTES = 64 << 20
# Chunks on a GPU: the ring of the stream has so many, twice as many are under way.
GPU_RING, GPU_CHUNK_BYTES = 3, 16 << 20
# What libraries take that the process has not loaded yet, and what its allocator keeps.
_LATER_BYTES = 160 << 20
_LATER_BYTES_ON_GPU = 900 << 20
# Where a system does not say what a process takes.
_USUAL_BYTES = 300 << 20


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The bands of a run.

    `band_rows` are filtered at a time, and at most `most_bands` are in memory; decoded strips or tiles that
    the next band needs too take `cache_bytes`. `needed_bytes` is the most that the process takes with all.
    """

    band_rows: int
    most_bands: int
    cache_bytes: int
    needed_bytes: int


def plan_memory(
    picture: LargePicture,
    work: Resolved,
    storage: Storage,
    dtype: np.dtype,
    memory: int | None,
    *,
    gpus: int,
    verify: bool,
) -> MemoryPlan:
    """Return the plan for a bound of memory, None for enough to be fast; refuse a bound below the least.

    The result is stored as `storage` says, in samples of a type, which may not be what the kernel writes.
    """
    problem, halo, task, width = work.problem, work.reach.height, work.task, picture.width
    between = task.between(work.job()) if not gpus else 0
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
    fixed += 3 * cores() * segment + 8 * cores() * out_tile
    if storage.smallest is not None:  # rows while they are halved
        fixed += min(storage.rows_at_once, picture.height) * out_row
    if storage.kind == "zarr":
        fixed += 2 * min(storage.rows_at_once, picture.height) * out_row

    # Those that a halo lies in, and what threads decode besides.
    cached_rows = (
        min(-(-halo // rows_of_segment) + 1, -(-picture.height // rows_of_segment)) * rows_of_segment
    )
    cache_bytes = cached_rows * width * picture.channels * problem.itemsize + cores() * segment

    def plan(band_rows: int, ahead_bytes: int) -> MemoryPlan:
        rows = min(band_rows + halo, picture.height + halo)
        # Colours without their alpha are copied.
        copied = in_row if picture.channels > problem.channels else 0
        band_bytes = rows * (in_row + copied + value_row)
        # Enough that strips or tiles are decoded while the bands before are filtered.
        ahead = max(1, min(-(-rows_of_segment // band_rows), ahead_bytes // band_bytes))
        most = 3 + ahead + 2 * GPU_RING * gpus
        # In the ring of each GPU, and its pinned memory.
        on_gpus = 4 * GPU_RING * gpus * max(GPU_CHUNK_BYTES, band_rows * max(in_row, value_row))
        needed = fixed + cache_bytes + most * band_bytes + on_gpus + between * rows * float_row
        return MemoryPlan(band_rows, most, cache_bytes, needed)

    # A band holds twice the rows of a mask.
    found = plan(max(2 * halo, _BAND_BYTES // max(in_row, value_row)), _AHEAD_BYTES)
    if memory is None:
        return found
    least = plan(2 * halo, 0)
    if least.needed_bytes > memory:
        raise BadValue(
            f"--memory {bytes_text(memory)}",
            f"filtering {picture.path.name} in bands takes {bytes_text(least.needed_bytes)} at least: "
            f"{cached_rows:,} rows of it at a time, which are stored together",
            f"Give --memory {_mebibytes(least.needed_bytes)}, or save it in smaller strips or tiles.",
        )
    while found.needed_bytes > memory and found.band_rows > 2 * halo:
        found = plan(max(2 * halo, found.band_rows * 7 // 8), _AHEAD_BYTES)
    return found if found.needed_bytes <= memory else least


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
