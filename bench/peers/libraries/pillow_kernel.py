"""Pillow on the CPU: `ImageFilter.Kernel`, which takes 3 x 3 and 5 x 5 masks and 8-bit grey or RGB.

It has one thread, leaves the border as it is in the picture, and takes its mask from the bottom row up.
"""

import numpy as np
import PIL
from PIL import Image, ImageFilter

from bench.peers.cells import Cell
from bench.peers.library import About, HostClock, Job, Library, Ready


class _Kernel:
    def __init__(self, job: Job) -> None:
        assert job.mask.divisor is not None
        side = job.cell.mask_side
        weights = job.mask.whole[::-1].ravel().tolist()
        self._kernel = ImageFilter.Kernel((side, side), weights, scale=job.mask.divisor)
        pictures = [picture[..., 0] if job.cell.channels == 1 else picture for picture in job.pictures]
        self._in = [[Image.fromarray(np.array(picture)) for picture in pictures] for _ in range(job.copies)]
        self._out: list[Image.Image] = []
        self._shape = job.pictures.shape

    def run(self, copy: int) -> None:
        self._out = [picture.filter(self._kernel) for picture in self._in[copy]]

    def results(self) -> np.ndarray:
        return np.stack([np.asarray(image) for image in self._out]).reshape(self._shape)


class Pillow(Library):
    def about(self) -> About:
        return About({"pillow": PIL.__version__}, 1)

    def methods(self, cell: Cell) -> tuple[str, ...]:
        serves = cell.kind == "integer" and cell.mask_side in (3, 5) and cell.channels in (1, 3)
        return ("Kernel",) if serves and cell.dtype == "uint8" else ()

    def prepare(self, job: Job, method: str) -> Ready:
        made = _Kernel(job)
        return Ready(made, lambda: HostClock(made.run, job.copies), border="interior")


open_library = Pillow
