"""Commands where compiled code cannot be kept, or is damaged: they do their work all the same."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[3]
# The compiled filter takes 27 kB, the result 200 bytes.
MOST_BYTES = 2000


def filtered(
    folder: Path, cache: Path, before: Callable[[], None] | None = None
) -> tuple[subprocess.CompletedProcess[str], bool]:
    """Filter a picture in a process of its own; return what it left and whether the result is right."""
    pixels = np.arange(48 * 40, dtype=np.uint8).reshape(48, 40) % 251
    Image.fromarray(pixels).save(folder / "in.png")
    command = [sys.executable, str(ROOT / "main.py"), "filter", "in.png", "out.png", "--mask", "[[0,0,1]]"]
    done = subprocess.run(
        [*command, "--variant", "cpu-serial"],
        cwd=folder,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        preexec_fn=before,
        capture_output=True,
        text=True,
        check=False,
    )
    shifted = np.zeros_like(pixels)
    shifted[:, :-1] = pixels[:, 1:]
    out = folder / "out.png"
    return done, out.exists() and np.array_equal(np.asarray(Image.open(out)), shifted)


def test_that_a_full_cache_disk_stops_nothing_and_is_named_in_one_line(tmp_path: Path) -> None:
    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))

    done, is_right = filtered(tmp_path, tmp_path / "cache", small_disk)
    assert (done.returncode, is_right) == (0, True), done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"note: Compiled code cannot be kept in {tmp_path / 'cache'}")


def test_that_damaged_compiled_code_is_replaced_without_a_word(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done, is_right = filtered(tmp_path, cache)
    assert (done.returncode, is_right, done.stderr) == (0, True, "")
    files = sorted(cache.glob("*/*"))
    good = [path.read_bytes() for path in files]
    assert files
    for number, (path, content) in enumerate(zip(files, good, strict=True)):
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :]
        path.write_bytes((flipped, content[:middle], b"")[number % 3])
    done, is_right = filtered(tmp_path, cache)
    assert (done.returncode, is_right, done.stderr) == (0, True, "")
    assert all(len(path.read_bytes()) == len(content) for path, content in zip(files, good, strict=True))
