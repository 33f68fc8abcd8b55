"""The crash log: Python's faulthandler and unexpected errors write their tracebacks there."""

import atexit
import faulthandler
import os
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

import platformdirs

LARGEST_BYTES = 1 << 20

_file: TextIO | None = None


def log_path() -> Path:
    """Return where the crash log is on this system."""
    return Path(platformdirs.user_log_dir("haloscope", appauthor=False)) / "crash.log"


def open_crash_log() -> None:
    """Let faulthandler write into the crash log; where no log can be written, on stderr."""
    global _file
    with suppress(OSError):
        path = log_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.exists() and path.stat().st_size > LARGEST_BYTES
        file = path.open("w" if fresh else "a", encoding="utf-8")
        # What Python opened is closed before its last moments, of which a crash is to be logged too.
        faulthandler.enable(os.dup(file.fileno()))
        _file = file
    if _file is not None:
        atexit.register(_file.close)
    elif sys.stderr is not None:
        faulthandler.enable()


def write_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log an unexpected error with its traceback."""
    target = _file or sys.stderr
    if target is not None:
        with suppress(OSError, ValueError):
            target.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n")
            traceback.print_exception(kind, error, trace, file=target)
            target.flush()


def note_error(error: BaseException) -> None:
    """Log an error that was handled but could not be shown."""
    write_error(type(error), error, error.__traceback__)
