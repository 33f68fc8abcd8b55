"""Whether CUDA is there to be used. No Numba in here: importing its CUDA target takes 0.65 s."""

import ctypes
import importlib
import importlib.util
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

with suppress(ImportError):
    # It puts numba-cuda in the place of `numba.cuda`. Python imports it at its start: not in a notebook that
    # has installed numba-cuda since.
    importlib.import_module("_numba_cuda_redirector")
missing = "" if importlib.util.find_spec("numba_cuda") else "numba-cuda is not installed"
INSTALL = "Install it: pip install 'haloscope[cuda]' (there is none for macOS)."

_FOLDERS = ("/usr/lib", "/usr/lib64")


def has_driver() -> bool:
    """Return whether the library of the NVIDIA driver is found, as by Numba; it may still not work."""
    return bool(os.environ.get("NUMBA_CUDA_DRIVER")) or driver_library() is not None


@cache
def driver_library() -> ctypes.CDLL | None:
    """Return the library of the NVIDIA driver; None where there is none."""
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so", "libcuda.so.1")
    paths = (*names, *(str(Path(folder, name)) for folder in _FOLDERS for name in names))
    chosen = os.environ.get("NUMBA_CUDA_DRIVER")
    for path in (chosen,) if chosen else paths:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None
