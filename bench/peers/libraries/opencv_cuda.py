"""OpenCV's CUDA module: `createLinearFilter`, one or four channels; PyPI's packages lack CUDA."""

import cv2
import numpy as np

from bench.peers.cells import Cell
from bench.peers.device_clock import DeviceClock, refuse_without_device
from bench.peers.library import About, Job, Ready, Refused, blank, plain


class _Linear:
    def __init__(self, job: Job, stream: "cv2.cuda.Stream") -> None:
        depth = cv2.CV_32F if job.cell.dtype == "float32" else cv2.CV_8U
        kind = cv2.CV_MAKETYPE(depth, job.cell.channels)
        self._filter = cv2.cuda.createLinearFilter(
            kind, kind, job.mask.weights32, borderMode=cv2.BORDER_CONSTANT
        )
        self._stream = stream
        self._shape = job.pictures.shape
        self._in = [[_uploaded(plain(picture)) for picture in job.pictures] for _ in range(job.copies)]
        empty = plain(blank(job.pictures.shape[1:], job.pictures.dtype))
        self._out = [[_uploaded(empty) for _ in job.pictures] for _ in range(job.copies)]

    def run(self, copy: int) -> None:
        for picture, result in zip(self._in[copy], self._out[copy], strict=True):
            self._filter.apply(picture, result, stream=self._stream)

    def results(self) -> np.ndarray:
        self._stream.waitForCompletion()
        return np.stack([result.download() for result in self._out[0]]).reshape(self._shape)


def _uploaded(array: np.ndarray) -> "cv2.cuda.GpuMat":
    made = cv2.cuda.GpuMat()
    made.upload(np.ascontiguousarray(array))
    return made


class OpenCVCUDA:
    def __init__(self) -> None:
        if not hasattr(cv2, "cuda") or not hasattr(cv2.cuda, "createLinearFilter"):
            raise Refused("this OpenCV is built without its CUDA module")
        if cv2.cuda.getCudaEnabledDeviceCount() < 1:
            raise Refused("this OpenCV is built without CUDA, or sees no device")
        refuse_without_device()
        self._stream = cv2.cuda.Stream()

    def about(self) -> About:
        return About({"opencv": cv2.__version__})

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return ("createLinearFilter",) if cell.channels in (1, 4) else ()

    def prepare(self, job: Job, method: str) -> Ready:
        made = _Linear(job, self._stream)
        return Ready(
            made,
            lambda: DeviceClock(
                made.run, job.copies, int(self._stream.cudaPtr()), launches=2 * job.cell.batch
            ),
        )


def open_library(threads: int, methods: tuple[str, ...]) -> OpenCVCUDA:
    return OpenCVCUDA()
