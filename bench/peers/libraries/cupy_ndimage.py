"""CuPy: `cupyx.scipy.ndimage.correlate`, `correlate1d` twice for separable masks; 8-bit results are cut."""

import cupy
import numpy as np
from cupyx.scipy import ndimage

from bench.peers.cells import Cell
from bench.peers.device_clock import DeviceClock, refuse_without_device
from bench.peers.library import About, Job, Ready, blank, plain


class _Correlation:
    def __init__(self, job: Job, method: str, stream: cupy.cuda.Stream) -> None:
        self._stream = stream
        with stream:
            self._in = [cupy.asarray(np.array(job.pictures)) for _ in range(job.copies)]
            self._out = [cupy.asarray(blank(job.pictures.shape, job.pictures.dtype)) for _ in self._in]
            if method == "correlate1d twice":
                assert job.mask.factor is not None
                self._weights = cupy.asarray(job.mask.factor.astype(np.float32))
                self._between = cupy.empty(plain(job.pictures[0]).shape, np.float32)
            else:
                weights = job.mask.weights32
                self._weights = cupy.asarray(weights if job.cell.channels == 1 else weights[..., np.newaxis])
        self._twice = method == "correlate1d twice"
        stream.synchronize()

    def run(self, copy: int) -> None:
        with self._stream:
            for picture, result in zip(self._in[copy], self._out[copy], strict=True):
                self._one(plain(picture), plain(result))

    def _one(self, picture: cupy.ndarray, result: cupy.ndarray) -> None:
        if self._twice:
            ndimage.correlate1d(picture, self._weights, axis=0, output=self._between, mode="constant")
            ndimage.correlate1d(self._between, self._weights, axis=1, output=result, mode="constant")
        else:
            ndimage.correlate(picture, self._weights, output=result, mode="constant")

    def results(self) -> np.ndarray:
        self._stream.synchronize()
        return cupy.asnumpy(self._out[0])


class CuPy:
    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        refuse_without_device()
        cupy.cuda.Device(0).use()
        self._stream = cupy.cuda.Stream(non_blocking=True)

    def about(self) -> About:
        return About({"cupy": cupy.__version__, "cuda": str(cupy.cuda.runtime.runtimeGetVersion())})

    def methods(self, cell: Cell) -> tuple[str, ...]:
        if cell.kind == "gaussian" and cell.dtype == "float32":
            return ("correlate", "correlate1d twice")
        return ("correlate",)

    def prepare(self, job: Job, method: str) -> Ready:
        made = _Correlation(job, method, self._stream)
        return Ready(made, lambda: DeviceClock(made.run, job.copies, self._stream.ptr))


open_library = CuPy
