"""The messages of the libraries in imagecodecs while they decode."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# A library may complain of each of a million rows.
_MOST_MESSAGES = 1000


@contextmanager
def imagecodecs_messages() -> Iterator[list[str]]:
    """Collect the messages of the libraries in imagecodecs within, on this thread; of many the first ones.

    imagecodecs passes them to a logger; from there they would go to stderr.
    """
    messages: list[str] = []
    thread = threading.get_ident()

    def collect(record: logging.LogRecord) -> bool:
        if record.thread == thread and len(messages) < _MOST_MESSAGES:
            messages.append(record.getMessage())
        return record.thread != thread

    logger = logging.getLogger("imagecodecs")
    logger.addFilter(collect)
    try:
        yield messages
    finally:
        logger.removeFilter(collect)
