"""One launch of a compiled function over bands: on several threads, each with buffers of its own."""

from collections import defaultdict
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from engine.variants.cpu.threads import Boards, compiled

Buffers = TypeVar("Buffers")
Walk = Callable[[int, int, np.ndarray, Buffers], None]
"""Takes bands until none is left, on all threads; called with the addresses of the picture and the result, the board of the
launch (`engine.variants.cpu.cpu_sharing`), and buffers: a row of each for each worker."""

_BOARDS = Boards()


class Launcher(Generic[Buffers]):
    """Launches walks over bands.

    Parameters
    ----------
    dtype : dtype
        That the walks read pictures in; others are converted first.
    new_buffers : callable
        Makes the buffers of so many workers; they are kept from launch to launch.
    """

    def __init__(self, dtype: DTypeLike, new_buffers: Callable[[int], Buffers]) -> None:
        self._dtype = dtype
        self._new_buffers = new_buffers
        self._kept: defaultdict[int, list[Buffers]] = defaultdict(list)
        # Here, where a variant is prepared, and not within the first launch.
        compiled()

    def launch(
        self, image: np.ndarray, out: np.ndarray, bands: np.ndarray, workers: int, walk: Walk[Buffers]
    ) -> None:
        """Filter `image` into `out`, band by band, on so many threads at most; returns when it is done.

        Ctrl-C too is raised when nobody writes any more: compiled code has waited for all workers when it returns.
        """
        image = np.ascontiguousarray(image, self._dtype)
        workers = min(workers, len(bands))
        kept = self._kept[workers]
        try:
            buffers = kept.pop()
        except IndexError:
            buffers = self._new_buffers(workers)
        board = _BOARDS.take(workers)
        walk(image.ctypes.data, out.ctypes.data, board, buffers)
        _BOARDS.give_back(board)
        kept.append(buffers)
