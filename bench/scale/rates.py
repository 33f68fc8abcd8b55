"""What one core and the disk of this machine do, by CPU time, so that others' work counts less."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import engine
from engine.device.per_thread import launches_on
from engine.image.open import open_sample

# The rates of chunks are from these two sides: each costs something for itself, and for each pixel.
CHUNK_SIDES = 256, 3072
MASK_SIDES = (5, 15)
REPEATS = 5
DISK_BYTES = 1 << 29


def mask_of(side: int) -> np.ndarray:
    """Return a mask that is no product of a column and a row."""
    return np.random.default_rng(side).random((side, side))


def picture(height: int, width: int) -> np.ndarray:
    """Return a photograph with the noise of a sensor, which no codec can leave out, of 0 to 255."""
    pixels = open_sample("camera").pixels
    sample = pixels.reshape(*pixels.shape[:2], -1).astype(np.float32).mean(axis=-1)
    rows, columns = (-(-length // have) for length, have in zip((height, width), sample.shape, strict=True))
    noise = np.random.default_rng(1).normal(0, 2, (height, width))
    return np.clip(np.tile(sample, (rows, columns))[:height, :width] + noise, 0, 255).astype(np.float32)


def cpu_s(action: Callable[[], object]) -> float:
    """Return the least CPU time of some times, after a first one."""
    action()
    found = []
    for _ in range(REPEATS):
        begin_s = time.process_time()
        action()
        found.append(time.process_time() - begin_s)
    return min(found)


def core_rates(folder: Path) -> dict[str, Any]:
    """Return ns of a core for each pixel, to decode, to filter, to encode, and its bytes in a file."""
    found: dict[str, Any] = {"decode": {}, "encode": {}, "kernel": {}, "bytes": {}}
    grey = picture(3000, 4000).astype(np.uint8)
    for suffix in ("jpg", "png", "tif"):
        path = folder / f"picture.{suffix}"
        found["encode"][suffix] = cpu_s(lambda path=path: engine.save_image(grey, path)) / grey.size * 1e9
        found["decode"][suffix] = cpu_s(lambda path=path: engine.open_image(path)) / grey.size * 1e9
        found["bytes"][suffix] = path.stat().st_size / grey.size
    took = {side: chunk_s(side, folder) for side in CHUNK_SIDES}
    (small, few), (large, many) = ((took[side], side * side) for side in CHUNK_SIDES)
    pixel_ns = {name: 1e9 * (large[name] - small[name]) / (many - few) for name in large}
    found["chunk_s"] = sum(
        max(0.0, small[name] - 1e-9 * ns * few)
        for name, ns in pixel_ns.items()
        if name in ("decode", "encode")
    )
    found["decode"]["zarr"], found["encode"]["zarr"] = pixel_ns["decode"], pixel_ns["encode"]
    found["kernel"] = {str(side): pixel_ns[f"kernel {side}"] for side in MASK_SIDES}
    stored = sum(path.stat().st_size for path in (folder / f"rate-{CHUNK_SIDES[1]}").rglob("c/*/*"))
    found["bytes"]["zarr"] = stored / many
    return found


def chunk_s(side: int, folder: Path) -> dict[str, float]:
    """Return the CPU time that reading, filtering and writing a chunk of a Zarr array of float32 takes."""
    samples = picture(side, side)
    kept = zarr.create_array(folder / f"rate-{side}", shape=samples.shape, chunks=samples.shape, dtype="f4")

    def write() -> None:
        kept[:] = samples

    found = {"encode": cpu_s(write), "decode": cpu_s(lambda: kept[:])}
    with launches_on(1):
        for mask_side in MASK_SIDES:
            mask = mask_of(mask_side)
            found[f"kernel {mask_side}"] = cpu_s(
                lambda mask=mask: engine.correlate(samples, mask, device="cpu")
            )
    return found


def disk_rates(folder: Path) -> dict[str, float]:
    """Return bytes per second of a new file that is on the disk, and of one that is not in memory."""
    data, path = os.urandom(1 << 24), folder / "disk"
    written, read = [], []
    for _ in range(3):
        begin_s = time.perf_counter()
        with path.open("wb") as file:
            for _ in range(DISK_BYTES // len(data)):
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        written.append(DISK_BYTES / (time.perf_counter() - begin_s))
        forget(path)
        begin_s = time.perf_counter()
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass
        read.append(DISK_BYTES / (time.perf_counter() - begin_s))
    path.unlink()
    return {"write": max(written), "read": max(read)}


def forget(path: Path) -> None:
    """Have the system drop what it keeps of a file in memory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def measured_rates() -> dict[str, Any]:
    """Return all of them."""
    with tempfile.TemporaryDirectory(dir=".") as home:
        folder = Path(home)
        return {"core": core_rates(folder), "disk": disk_rates(folder)}
