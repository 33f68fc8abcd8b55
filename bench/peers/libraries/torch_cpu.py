"""torch on the CPU: `conv2d` in float32. It has no 8-bit convolution.

Every channel is a separate picture in the format channels_last: what was fastest for it (2 cores, 2048 x
2048, 3 x 3: 26 ms instead of 207, 15 x 15: 329 instead of 383).
"""

import numpy as np
import torch

from bench.peers.cells import Cell
from bench.peers.library import About, HostClock, Job, Ready


class _Convolution:
    def __init__(self, job: Job, method: str) -> None:
        self._shape, last = job.pictures.shape, torch.channels_last
        self._in = [planar(job).to(memory_format=last) for _ in range(job.copies)]
        self._weights = [weights.to(memory_format=last) for weights in weights_of(job, method)]
        self._out = torch.empty(0)

    @torch.inference_mode()
    def run(self, copy: int) -> None:
        self._out = convolved(self._in[copy], self._weights)

    def results(self) -> np.ndarray:
        return interleaved(self._out, self._shape)


def planar(job: Job) -> torch.Tensor:
    """Return a copy of the pictures, (batch x channels, 1, H, W)."""
    _, height, width, _ = job.pictures.shape
    pictures = np.array(np.moveaxis(job.pictures, 3, 1), order="C")
    return torch.from_numpy(pictures.reshape(-1, 1, height, width))


def convolved(pictures: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    """Return pictures convolved with each of the masks, one after the other."""
    for mask in weights:
        padding = (mask.shape[2] // 2, mask.shape[3] // 2)
        pictures = torch.nn.functional.conv2d(pictures, mask, padding=padding)
    return pictures


def interleaved(results: torch.Tensor, shape: tuple[int, ...]) -> np.ndarray:
    """Return results on the CPU as (batch, H, W, C)."""
    batch, height, width, channels = shape
    return np.moveaxis(results.numpy().reshape(batch, channels, height, width), 1, 3)


def weights_of(job: Job, method: str) -> list[torch.Tensor]:
    """Return the weights of each convolution: one, or two for the rows and the columns."""
    if method == "conv2d twice":
        assert job.mask.factor is not None
        factor = torch.from_numpy(job.mask.factor.astype(np.float32))
        return [factor.reshape(1, 1, -1, 1), factor.reshape(1, 1, 1, -1)]
    return [torch.from_numpy(job.mask.weights32)[None, None]]


def methods_of(cell: Cell) -> tuple[str, ...]:
    """Return the ways in which torch can do a cell."""
    if cell.dtype != "float32":
        return ()
    return ("conv2d", "conv2d twice") if cell.kind == "gaussian" else ("conv2d",)


class TorchCPU:
    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        torch.set_num_threads(threads)

    def about(self) -> About:
        return About({"torch": torch.__version__}, torch.get_num_threads())

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return methods_of(cell)

    def prepare(self, job: Job, method: str) -> Ready:
        made = _Convolution(job, method)
        return Ready(made, lambda: HostClock(made.run, job.copies))


open_library = TorchCPU
