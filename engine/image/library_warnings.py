"""What decoders say while files are opened, on any number of threads.

Python's warnings are ignored; what C libraries say is collected.
"""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import CodeNotKept

# A library may complain of each of a million rows.
_MOST_SAID = 1000
_lock = threading.Lock()
_opening = 0
_caught = warnings.catch_warnings()


@contextmanager
def ignored_warnings() -> Iterator[None]:
    """Ignore the warnings of libraries within: of damaged metadata (EXIF, text), which changes no pixel.

    Python has one list of filters for all threads. The first thread that opens a file changes it and the last
    one restores it: if each did, the list that the last one restores would be that of another thread, and all
    later warnings of the process would be lost.
    """
    global _opening, _caught
    with _lock:
        if _opening == 0:
            _caught = warnings.catch_warnings()
            _caught.__enter__()
            warnings.simplefilter("ignore")
            # That is for the person: code that checks a file is kept like any other.
            warnings.simplefilter("default", CodeNotKept)
        _opening += 1
    try:
        yield
    finally:
        with _lock:
            _opening -= 1
            if _opening == 0:
                _caught.__exit__(None, None, None)


@contextmanager
def said_by_imagecodecs() -> Iterator[list[str]]:
    """Collect what the libraries in imagecodecs say within, on this thread; of many words the first ones.

    imagecodecs passes it to a logger; without a handler it would go to stderr.
    """
    said: list[str] = []
    thread = threading.get_ident()

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == thread and len(said) < _MOST_SAID:
                said.append(record.getMessage())

    logger, collector = logging.getLogger("imagecodecs"), Collector()
    logger.addHandler(collector)
    try:
        yield said
    finally:
        logger.removeHandler(collector)
