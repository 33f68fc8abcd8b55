"""One launch of a compiled function over bands: on several threads, each with buffers of its own."""

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from engine.variants.cpu.bands import Progress, run_together

Buffers = TypeVar("Buffers")
Walk = Callable[[int, int, np.ndarray, int, Buffers], None]
"""Takes bands until none is left; called on each thread with the addresses of the picture and the result, the counters of
`Progress`, how often to look whether all bands are finished, and the thread's buffers."""


class Launcher(Generic[Buffers]):
    """Launches walks over bands.

    Parameters
    ----------
    dtype : dtype
        That the walks read pictures in; others are converted first.
    new_buffers : callable
        Makes the buffers of one thread; they are kept from launch to launch.
    """

    def __init__(self, dtype: DTypeLike, new_buffers: Callable[[], Buffers]) -> None:
        self._dtype = dtype
        self._new_buffers = new_buffers
        self._kept: list[Buffers] = []

    def launch(
        self, image: np.ndarray, out: np.ndarray, bands: np.ndarray, workers: int, walk: Walk[Buffers]
    ) -> None:
        """Filter `image` into `out`, band by band, on so many threads at most; returns when it is done."""
        image = np.ascontiguousarray(image, self._dtype)
        progress = Progress.of(bands)
        source, target = image.ctypes.data, out.ctypes.data

        def work(looks: int) -> None:
            try:
                buffers = self._kept.pop()
            except IndexError:
                buffers = self._new_buffers()
            walk(source, target, progress.counters, looks, buffers)
            self._kept.append(buffers)

        run_together(work, min(workers, len(bands)), progress)
