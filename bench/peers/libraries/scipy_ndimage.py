"""SciPy: `ndimage.correlate`, and `correlate1d` twice for separable masks. No threads; sums are float64."""

import numpy as np
import scipy
from scipy import ndimage

from bench.peers.cells import Cell
from bench.peers.library import About, Job, Library, Ready, host_ready


class SciPy(Library):
    def about(self) -> About:
        return About({"scipy": scipy.__version__}, 1)

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return ("correlate", "correlate1d twice") if cell.kind == "gaussian" else ("correlate",)

    def prepare(self, job: Job, method: str) -> Ready:
        if method == "correlate1d twice":
            factor = job.mask.factor

            def twice(picture: np.ndarray, result: np.ndarray) -> None:
                rows = ndimage.correlate1d(picture, factor, axis=0, mode="constant")
                ndimage.correlate1d(rows, factor, axis=1, output=result, mode="constant")

            return host_ready(job, twice)
        weights = job.mask.weights32
        if job.cell.channels > 1:
            weights = weights[..., np.newaxis]
        return host_ready(
            job, lambda picture, result: ndimage.correlate(picture, weights, output=result, mode="constant")
        )


open_library = SciPy
