"""The memory of the pictures under way, counted: the next one waits while they take too much together."""

import math
import threading


class PictureMemory:
    """Counts bytes. Called on: any thread.

    Pictures wait while others take more than `most_bytes` together, but a single one has whatever it needs.
    """

    def __init__(self, most_bytes: float = math.inf) -> None:
        self._most_bytes, self._lent_bytes = most_bytes, 0
        self._changed = threading.Condition()

    def enter(self, size: int) -> None:
        """Wait until a picture that takes so many bytes may begin."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._lent_bytes == 0 or self._lent_bytes + size <= self._most_bytes
            )
            self._lent_bytes += size

    def leave(self, size: int) -> None:
        """End a picture."""
        with self._changed:
            self._lent_bytes -= size
            self._changed.notify_all()


class Loan:
    """What one picture takes, until it is given back: then nothing refers to its arrays any more."""

    def __init__(self, memory: PictureMemory) -> None:
        self._memory, self._entered_bytes = memory, 0

    def enter(self, size: int) -> None:
        """Wait until there is room for so many bytes, which are all that the picture will take."""
        self._memory.enter(size)
        self._entered_bytes += size

    def give_back(self) -> None:
        """Let others enter."""
        self._memory.leave(self._entered_bytes)
        self._entered_bytes = 0
