"""Python's collection of garbage, kept from a stretch of work."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_blocks = 0
_was_enabled = True


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage until the end of the block, and of those of other threads that overlap it."""
    global _blocks, _was_enabled
    with _lock:
        if not _blocks:
            _was_enabled = gc.isenabled()
        _blocks += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks and _was_enabled:
                gc.enable()
