"""`cpu-fft`: correlation through Fourier transforms by NumPy, in tiles, on all cores.

Idea
    A product of spectra instead of rows x columns multiply-adds per result (`engine.variants.fft.transform`).
Who loads what
    A task transforms a tile of 512 x 512 results of one channel with its halo, as float64, there and back.
What it saves
    The cost of a result does not depend on the mask: about that of a direct mask of 19 x 19.
Limit
    Its error is relative to the largest sample, not to those under the mask, except where results are
    integers. A few samples far above all others are not transformed but added to the results
    (`engine.variants.fft.outliers`). Pictures with NaN or infinity, which a transform would spread, are
    refused.

Source: R. C. Gonzalez and R. E. Woods, "Digital Image Processing", 4th ed., section 4.6; NumPy's pocketfft.
"""

import threading
from typing import TYPE_CHECKING

import numpy as np

from engine.cores import cores
from engine.device.per_process import OncePerProcess
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.run.variant import ON_CPU
from engine.variants.fft import transform
from engine.variants.fft.outliers import add_outliers, largest_mixed, outliers
from engine.variants.fft.transform import SpectralFilter, sources
from engine.work.filtering.problem import Problem
from engine.work.filtering.sum_order import TRANSFORM
from engine.work.filtering.variants import Growth, Variant

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# 2048 x 2048, 63 x 63, 2 cores: 30 ms; 37 with tiles of 194, 42 with 1024, 66 with one transform of all that
# uses both cores.
TILE_RESULTS = 512


def _sides(problem: Problem) -> tuple[int, int]:
    return transform.transform_sides(problem, TILE_RESULTS)


@OncePerProcess
def _threads() -> "ThreadPoolExecutor":
    # 5 ms: only where there is a transform.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=cores(), thread_name_prefix="cpu-fft")


class TransformedTiles:
    """The tiles, ready for one problem and mask."""

    def __init__(self, problem: Problem, mask: Mask) -> None:
        self._filter = SpectralFilter(problem, mask, _sides(problem), np, np.fft)
        self._parts = [(tile, channel) for tile in self._filter.tiles for channel in range(problem.channels)]
        self._sources = sources(problem, 0), sources(problem, 1)
        self._weights = mask.weights32.astype(np.float64)

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image`, which is finite, into `out` on all cores; returns when it is done."""
        places = outliers(image)
        if not len(places):
            self._transform(image, out)
            return
        others = image.copy()
        others[tuple(places.T)] = 0.0
        self._transform(others, out)
        add_outliers(out, image, places, *self._sources, self._weights)

    def _transform(self, image: np.ndarray, out: np.ndarray) -> None:
        if len(self._parts) == 1:
            self._filter.filter(image, out, *self._parts[0])
            return

        is_stopped = threading.Event()
        under_way = [threading.Lock() for _ in self._parts]

        def filter_part(number: int) -> None:
            with under_way[number]:
                if not is_stopped.is_set():
                    self._filter.filter(image, out, *self._parts[number])

        try:
            for _ in _threads().map(filter_part, range(len(self._parts))):
                pass
        except BaseException:
            # Ctrl+C too is raised when nothing writes to the result any more.
            is_stopped.set()
            for lock in under_way:
                await_lock(lock)
                lock.release()
            raise


def await_lock(lock: threading.Lock) -> None:
    """Wait for a lock through any number of interruptions; the first one is raised afterwards."""
    while True:
        try:
            lock.acquire()
        except BaseException:  # noqa: BLE001 - see above
            continue
        return


def prepare(problem: Problem, mask: Mask, block: Block) -> TransformedTiles:
    """Return the tiles for one problem and mask, the mask transformed."""
    return TransformedTiles(problem, mask)


VARIANT = Variant(
    **ON_CPU,
    key="cpu-fft",
    title="CPU, Fourier transform",
    idea="The spectrum of the picture times that of the mask, tile by tile through NumPy: the cost does not "
    "depend on the mask.",
    work=lambda problem, block: transform.transform_work(problem, _sides(problem)),
    sum_order=lambda problem, mask: TRANSFORM,
    prepare=prepare,
    remark="For large masks. Error follows the brightest values, so dark areas are less accurate; pictures "
    "with NaN or infinity are refused.",
    integer_output=True,
    band_invariant=False,
    library="numpy",
    finite_only=True,
    added_error=lambda problem, mask: transform.added_error(problem, mask, _sides(problem)),
    largest_mixed=largest_mixed,
    grows_with=Growth.NOTHING,
)
