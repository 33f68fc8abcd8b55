"""The threads that copy between ordinary and pinned memory; started only where there is ordinary memory."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise

import numpy as np

COPY_THREADS = 8
# Smaller pieces cost more to submit than to copy.
PIECE_BYTES = 1 << 20


class StagingThreads:
    """Threads that copy, and one that delivers results in order."""

    def copy_all(self, sources: Iterable[np.ndarray], target: np.ndarray) -> None:
        """Copy arrays one below the other into another one, in pieces of rows, one per thread.

        NumPy lets other threads run meanwhile.
        """
        row, copies = 0, []
        for source in sources:
            part, row = target[row : row + len(source)], row + len(source)
            pieces = max(1, min(COPY_THREADS, source.nbytes // PIECE_BYTES, len(source)))
            edges = [len(source) * piece // pieces for piece in range(pieces + 1)]
            for first, last in pairwise(edges):
                copies.append(self._copiers.submit(np.copyto, part[first:last], source[first:last]))
        for copy in copies:
            copy.result()

    def deliver(self, delivery: Callable[[], None]) -> "Future[None]":
        """Call that after all earlier deliveries, on the delivering thread; it may call `copy_all`."""
        # Made here, by the calling thread: the two would make one each.
        _ = self._copiers
        return self._deliverer.submit(delivery)

    def stop(self) -> None:
        """Wait for what has begun, and drop the rest."""
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
