"""torch on the CPU: `conv2d` in float32. It has no 8-bit convolution.

Every channel is a picture of its own in the format channels_last: what was fastest for it (2 cores, 2048 x
2048, 3 x 3: 26 ms instead of 207, 15 x 15: 329 instead of 383).
"""

import numpy as np
import torch

from bench.peers.cells import Cell
from bench.peers.library import About, HostClock, Job, Ready


class _Convolution:
    def __init__(self, job: Job, method: str) -> None:
        self._shape = job.pictures.shape
        _, height, width, _ = self._shape
        planar = np.ascontiguousarray(np.moveaxis(job.pictures, 3, 1)).reshape(-1, 1, height, width)
        last = torch.channels_last
        self._in = [torch.from_numpy(planar.copy()).to(memory_format=last) for _ in range(job.copies)]
        self._weights = [weights.to(memory_format=last) for weights in weights_of(job, method)]
        self._out = torch.empty(0)

    @torch.inference_mode()
    def run(self, copy: int) -> None:
        result = self._in[copy]
        for weights in self._weights:
            padding = (weights.shape[2] // 2, weights.shape[3] // 2)
            result = torch.nn.functional.conv2d(result, weights, padding=padding)
        self._out = result

    def results(self) -> np.ndarray:
        batch, height, width, channels = self._shape
        return np.moveaxis(self._out.numpy().reshape(batch, channels, height, width), 1, 3)


def weights_of(job: Job, method: str) -> list[torch.Tensor]:
    """Return the weights of each convolution in turn: one, or two for the rows and the columns."""
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
    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def about(self) -> About:
        return About({"torch": torch.__version__}, torch.get_num_threads())

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return methods_of(cell)

    def prepare(self, job: Job, method: str) -> Ready:
        made = _Convolution(job, method)
        return Ready(made, lambda: HostClock(made.run, job.copies))


def open_library(threads: int, methods: tuple[str, ...]) -> TorchCPU:
    return TorchCPU(threads)
