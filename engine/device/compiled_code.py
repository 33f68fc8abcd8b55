"""Where compiled code is kept between starts.

What a function compiles to depends on all that it calls, in whatever file that stands. A folder named after a digest of
the sources makes a stale entry impossible; where a person chose a folder by `NUMBA_CACHE_DIR`, it lies in there. No
Numba in here.
"""

import functools
import hashlib
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import platformdirs

from engine.device.code_store import CodeStore

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


@functools.cache
def code_store() -> CodeStore:
    """Return the store of this process's compiled code; its folder need not be there, nor be one that can be made."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    own = Path(platformdirs.user_cache_dir("haloscope", appauthor=False)) / "compiled"
    folder = (Path(chosen).absolute() if chosen else own) / source_digest()
    with suppress(OSError):
        os.utime(folder)
        if not chosen:
            _remove_unused(own)
    return CodeStore(folder)


def _remove_unused(kept: Path) -> None:
    """Remove what other versions of the sources have left and nobody has started for a month."""
    for folder in kept.iterdir():
        if time.time() - folder.stat().st_mtime > _UNUSED_AFTER_S:
            shutil.rmtree(folder, ignore_errors=True)
