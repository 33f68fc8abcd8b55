"""How requests wait for the engine's process."""

from enum import StrEnum


class QueuePolicy(StrEnum):
    """How requests wait: in a preview lane only the newest one counts; others are done in order."""

    NEWEST = "newest"
    IN_ORDER = "queue"
    AT_ONCE = "at once"
