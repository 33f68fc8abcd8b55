"""Where compiled CPU code is kept between starts.

Numba notices a change only in the file that holds a function, not in what that function calls: a stale entry may even
write past its buffers. A folder named after the sources makes one impossible; where a person chose a folder by
`NUMBA_CACHE_DIR`, it lies in there. No Numba in here; `numba_cuda` tells it, whoever imported Numba first.
"""

import hashlib
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import platformdirs

_ENGINE = Path(__file__).parents[1]
_COMPILED = ("geometry/border.py", "device/*.py", "variants/**/*.py")
_UNUSED_AFTER_S = 30 * 24 * 3600.0


def source_digest() -> str:
    """Return a short digest of every source file that compiled code comes from."""
    digest = hashlib.sha256()
    for pattern in _COMPILED:
        for path in sorted(_ENGINE.glob(pattern)):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def keep_compiled_code() -> Path:
    """Return the folder for compiled code, made, and name it to the processes that this one starts."""
    chosen, digest = os.environ.get("NUMBA_CACHE_DIR"), source_digest()
    if chosen and Path(chosen).name == digest:
        return Path(chosen)
    own = Path(platformdirs.user_cache_dir("haloscope", appauthor=False)) / "compiled"
    kept = Path(chosen) if chosen else own
    folder = kept / digest
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        if kept == own:
            _remove_unused(kept)
    return folder


def _remove_unused(kept: Path) -> None:
    """Remove what other versions of the sources have left and nobody has started for a month."""
    for folder in kept.iterdir():
        if time.time() - folder.stat().st_mtime > _UNUSED_AFTER_S:
            shutil.rmtree(folder, ignore_errors=True)
