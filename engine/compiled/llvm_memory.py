"""Memory that LLVM's code takes in a process, which only compiling and linking need.

To load llvmlite and to link one object file touches 42 MB of its library, which stay in memory: a sixth of
what the window and its engine take together. They are the file's own pages. Given back, those that are used
again come from the system's cache of the file: all of them in 4 ms.
"""

import ctypes
import sys
from pathlib import Path

from llvmlite.utils import get_library_name

_MAPS = Path("/proc/self/smaps")
_DONTNEED = 4
# Addresses and sizes, once they are known.
_parts: list[tuple[int, int]] = []


def give_back() -> None:
    """Take LLVM's code out of the process's memory until it is used again. Only Linux can."""
    if not sys.platform.startswith("linux"):
        return
    if not _parts:
        _parts.extend(_unchanged_parts())
    for address, size in _parts:
        # Nothing is lost where the system refuses.
        ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), _DONTNEED)


def _unchanged_parts() -> list[tuple[int, int]]:
    """Return where that of the library lies which is as in its file, and cannot be written."""
    found, part = [], None
    for line in _MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
        first, _, rest = line.partition(" ")
        if not first.endswith(":"):
            begin, end = (int(address, 16) for address in first.split("-"))
            is_fixed = line.endswith(get_library_name()) and "w" not in rest.split()[0]
            part = (begin, end - begin) if is_fixed else None
        elif first == "Anonymous:" and part is not None and rest.split()[0] == "0":
            found.append(part)
    return found
