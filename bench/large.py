"""`filter` of a picture larger than memory beside the disk and the kernel alone.

Made is an RGB picture of so many GB, as a TIFF in tiles, in `--folder`. The file is read and written again as
it is (what the disk takes), the kernel filters as many bytes that lie in memory, `filter --memory` filters
the file, and it is read and written again once more. Each has the pages of the file dropped from the system's
cache before. Printed are rates, the share of the slower one that `filter` reaches, and its peak of memory.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import engine
from bench.options import parser_of
from bench.whole.processes import run_once
from engine.image.formats.tiff import TiffResult
from engine.image.large.opening import open_large
from engine.image.large.result import PartFolder
from engine.image.large.source import Storage

WIDTH, TILE = 20_480, 512
MASK, BORDER = "gaussian:9:1.5", "mirror"
PIECE = 64 << 20


def made(path: Path, gigabytes: float, compression: str) -> None:
    """Make the picture: noise on a gradient, another one in each row of tiles."""
    rows = max(1, round(gigabytes * 1e9 / (WIDTH * 3) / TILE)) * TILE
    part = PartFolder(str(path))
    part.begin()
    storage = Storage("tiff", (TILE, TILE), compression=compression)
    shape = rows, WIDTH, 3
    result = TiffResult(part, storage, shape, np.dtype(np.uint8))
    random = np.random.default_rng(0)
    noise = random.integers(0, 24, (TILE, WIDTH, 3), np.uint8)
    ramp = np.linspace(0, 200, WIDTH).astype(np.uint8)[:, np.newaxis]
    for top in range(0, rows, TILE):
        result.write(0, top, np.roll(noise, top // 7, axis=1) + ramp)
    result.finish()
    result.close()
    part.finish()


def forget(path: Path) -> None:
    """Have the system drop what it keeps of a file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def copied(path: Path, folder: Path) -> None:
    """Read the file and write it again, to the disk."""
    target = folder / "copy"
    with path.open("rb", buffering=0) as source, target.open("wb", buffering=0) as copy:
        while data := source.read(PIECE):
            copy.write(data)
        os.fsync(copy.fileno())
    target.unlink()


def read(path: Path) -> None:
    """Read the file."""
    with path.open("rb", buffering=0) as source:
        while source.read(PIECE):
            pass


def kernel(size: int) -> None:
    """Filter so many bytes in bands that lie in memory."""
    band = np.random.default_rng(1).integers(0, 255, (PIECE // (WIDTH * 3), WIDTH, 3), np.uint8)
    out = np.empty_like(band)
    for _ in range(max(1, size // band.nbytes)):
        engine.correlate(band, MASK, border=BORDER, device="cpu", result="same", out=out)


def seconds(act: Callable[[], object]) -> float:
    """Return how long something takes."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def main() -> None:
    """Measure, and print a table."""
    parser = parser_of(__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--compression", default="none", choices=("none", "deflate", "zstd"))
    parser.add_argument("--folder", help="where the files are made (default: the folder of temporary files)")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="haloscope-large-", dir=asked.folder))
    try:
        source, target = folder / "in.tif", folder / "out.tif"
        made(source, asked.gigabytes, asked.compression)
        size = source.stat().st_size
        with open_large(source) as picture:
            pixels = picture.height * picture.width * picture.channels
        kernel(PIECE)  # compiled
        times = {}
        forget(source)
        times["read"] = seconds(lambda: read(source))
        forget(source)
        times["read and write"] = seconds(lambda: copied(source, folder))
        times["kernel"] = seconds(lambda: kernel(pixels))
        forget(source)
        command = [sys.executable, "main.py", "filter", str(source), str(target), "--mask", MASK]
        command += ["--border", BORDER, "--memory", asked.memory, "--device", "cpu"]
        spent = run_once(command)
        times["filter"] = spent.elapsed_s
        # Others may use the disk too: once before and once after.
        target.unlink()
        forget(source)
        times["read and write, again"] = seconds(lambda: copied(source, folder))
        print(f"{pixels / 1e9:.1f} GB of pixels in a file of {size / 1e9:.1f} GB, {MASK}, border {BORDER}")
        for name, time_s in times.items():
            print(f"{name:22} {time_s:8.1f} s {pixels / time_s / 1e6:8.0f} MB/s of pixels")
        disk = (times["read and write"] + times["read and write, again"]) / 2
        slower = max(disk, times["kernel"])
        print(f"filter reaches {slower / times['filter']:.0%} of the slower of disk and kernel alone")
        peak = f"{spent.peak_bytes / 2**20:,.0f} MiB" if spent.peak_bytes else "less than this process's"
        print(f"its peak of memory: {peak} of --memory {asked.memory}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
