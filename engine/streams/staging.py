"""The threads that copy between ordinary memory and pinned memory; a stream without ordinary memory starts none."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property

import numpy as np

COPY_THREADS = 8
# Smaller pieces cost more to hand over than to copy.
PIECE_BYTES = 1 << 20


class StagingThreads:
    """Threads that copy, and one that delivers results in order."""

    def copy(self, source: np.ndarray, target: np.ndarray) -> list["Future[None]"]:
        """Copy one array into another, in pieces of rows, one a thread; NumPy lets other threads run meanwhile."""
        pieces = max(1, min(COPY_THREADS, source.nbytes // PIECE_BYTES, len(source)))
        edges = [len(source) * piece // pieces for piece in range(pieces + 1)]
        return [
            self._copiers.submit(
                np.copyto, target[edges[piece] : edges[piece + 1]], source[edges[piece] : edges[piece + 1]]
            )
            for piece in range(pieces)
        ]

    def deliver(self, delivery: Callable[[], None]) -> "Future[None]":
        """Do that after what was given to this before, on the delivering thread; it may call `copy`."""
        # Made here, by the calling thread: the two would make one each.
        _ = self._copiers
        return self._deliverer.submit(delivery)

    def stop(self) -> None:
        """Wait for what has begun, and forget the rest."""
        # The deliverer hands copies to the others.
        for name in ("_deliverer", "_copiers"):
            if name in vars(self):
                vars(self)[name].shutdown(wait=True, cancel_futures=True)

    @cached_property
    def _copiers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(COPY_THREADS, thread_name_prefix="stream-copy")

    @cached_property
    def _deliverer(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, thread_name_prefix="stream-deliver")
