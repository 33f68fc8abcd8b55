"""OpenCV on the CPU: `filter2D` for any mask, `sepFilter2D` for separable ones. Its own threads."""

import cv2

from bench.peers.cells import Cell
from bench.peers.library import About, Job, Ready, host_ready


class OpenCV:
    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        cv2.setNumThreads(threads)

    def about(self) -> About:
        return About({"opencv": cv2.__version__}, cv2.getNumThreads())

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return ("filter2D", "sepFilter2D") if cell.kind == "gaussian" else ("filter2D",)

    def prepare(self, job: Job, method: str) -> Ready:
        how = {"borderType": cv2.BORDER_CONSTANT}
        if method == "sepFilter2D":
            assert job.mask.factor is not None
            line = job.mask.factor.astype("float32")
            return host_ready(job, lambda given, out: cv2.sepFilter2D(given, -1, line, line, dst=out, **how))
        weights = job.mask.weights32
        return host_ready(job, lambda given, out: cv2.filter2D(given, -1, weights, dst=out, **how))


open_library = OpenCV
