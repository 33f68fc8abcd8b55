"""How requests wait for the engine's process."""

from enum import StrEnum


class QueuePolicy(StrEnum):
    """How requests wait: of previews only the newest counts, others are done in order, light questions at once."""

    NEWEST = "newest"
    IN_ORDER = "queue"
    AT_ONCE = "at once"
