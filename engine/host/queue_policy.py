"""How requests wait for the engine's process."""

from enum import StrEnum


class Lane(StrEnum):
    """How requests wait: in a preview lane only the newest one counts; others are done in order."""

    NEWEST = "newest"
    QUEUE = "queue"
    AT_ONCE = "at once"
