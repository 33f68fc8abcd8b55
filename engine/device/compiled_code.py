"""Where compiled CPU code is kept between starts.

Numba notices a change only in the file that holds a function, not in what that function calls: a folder named
after the sources makes a stale entry impossible. Import this before Numba. No Numba in here.
"""

import hashlib
import os
from pathlib import Path

import platformdirs

_ENGINE = Path(__file__).parents[1]
_COMPILED = ("border.py", "device/*.py", "variants/**/*.py", "host/*.py")


def source_digest() -> str:
    """Return a short digest of every source file that compiled code comes from."""
    digest = hashlib.sha256()
    for pattern in _COMPILED:
        for path in sorted(_ENGINE.glob(pattern)):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def keep_compiled_code() -> Path:
    """Tell Numba where to keep compiled code, unless `NUMBA_CACHE_DIR` already does; return the folder."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    folder = Path(platformdirs.user_cache_dir("haloscope", appauthor=False)) / "compiled" / source_digest()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    return folder
