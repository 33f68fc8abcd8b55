"""What the libraries in imagecodecs say while they decode."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# A library may complain of each of a million rows.
_MOST_SAID = 1000


@contextmanager
def said_by_imagecodecs() -> Iterator[list[str]]:
    """Collect what the libraries in imagecodecs say within, on this thread; of many words the first ones.

    imagecodecs passes it to a logger; from there it would go to stderr.
    """
    said: list[str] = []
    thread = threading.get_ident()

    def collect(record: logging.LogRecord) -> bool:
        if record.thread == thread and len(said) < _MOST_SAID:
            said.append(record.getMessage())
        return record.thread != thread

    logger = logging.getLogger("imagecodecs")
    logger.addFilter(collect)
    try:
        yield said
    finally:
        logger.removeFilter(collect)
