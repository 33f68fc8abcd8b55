"""The memory of the pictures under way, counted: the next one waits while they take too much together."""

import math
import threading
from contextlib import ExitStack


class PictureMemory:
    """Counts bytes. Called on: any thread.

    Pictures wait while others take more than `most_bytes` together, but a single one has whatever it needs.
    """

    def __init__(self, most_bytes: float = math.inf) -> None:
        self._most_bytes, self._lent_bytes = most_bytes, 0
        self._changed = threading.Condition()

    def enter(self, size: int, loan: ExitStack) -> None:
        """Wait until a picture that takes so many bytes may begin; the end of `loan` gives them back.

        Nothing may refer to its arrays any more by then.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._lent_bytes == 0 or self._lent_bytes + size <= self._most_bytes
            )
            self._lent_bytes += size
        loan.callback(self.leave, size)

    def leave(self, size: int) -> None:
        """End a picture."""
        with self._changed:
            self._lent_bytes -= size
            self._changed.notify_all()
