"""scikit-image on the CPU: `filters.gaussian`. It has no correlation with a given mask:
`filter_forward` goes through a Fourier transform of a function, and has no such border. One thread."""

import skimage
from skimage import filters

from bench.peers.cells import Cell
from bench.peers.library import About, Job, Library, Ready, host_ready


class ScikitImage(Library):
    def about(self) -> About:
        return About({"scikit-image": skimage.__version__}, 1)

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return ("filters.gaussian",) if cell.kind == "gaussian" and cell.dtype == "float32" else ()

    def prepare(self, job: Job, method: str) -> Ready:
        radius, sigma = job.cell.mask_side // 2, job.cell.mask_side / 6
        channel_axis = -1 if job.cell.channels > 1 else None
        return host_ready(
            job,
            lambda picture, result: filters.gaussian(
                picture,
                sigma,
                mode="constant",
                truncate=radius / sigma,
                channel_axis=channel_axis,
                out=result,
            ),
        )


open_library = ScikitImage
