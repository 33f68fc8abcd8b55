"""torch on the GPU: `conv2d` by cuDNN in float32 (TF32 off, benchmark mode), channels planar."""

from collections.abc import Callable

import numpy as np
import torch

from bench.peers.cells import Cell
from bench.peers.device_clock import DeviceClock, refuse_without_device
from bench.peers.libraries.torch_cpu import convolved, interleaved, methods_of, planar, weights_of
from bench.peers.library import About, Job, Ready, Refused


class _Convolution:
    def __init__(self, job: Job, method: str, stream: torch.cuda.Stream) -> None:
        self._shape = job.pictures.shape
        self._in = [planar(job).cuda() for _ in range(job.copies)]
        self._weights = [weights.cuda() for weights in weights_of(job, method)]
        # Every copy's result is kept: else the allocator would hand out the same memory, warm, again and
        # again.
        self._out: list[torch.Tensor | None] = [None] * job.copies
        self._stream = stream

    @torch.inference_mode()
    def run(self, copy: int) -> None:
        with torch.cuda.stream(self._stream):
            self._out[copy] = convolved(self._in[copy], self._weights)

    def results(self) -> np.ndarray:
        torch.cuda.synchronize()
        found = self._out[0]
        assert found is not None
        return interleaved(found.cpu(), self._shape)

    def captured(self, enqueue: Callable[[], None]) -> Callable[[], None]:
        """Capture by torch's own means: its allocator has to know."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self._stream):
            enqueue()

        def replay() -> None:
            with torch.cuda.stream(self._stream):
                graph.replay()

        return replay


class TorchCUDA:
    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        if not torch.cuda.is_available():
            raise Refused("torch sees no CUDA device")
        refuse_without_device()
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self._stream = torch.cuda.Stream()

    def about(self) -> About:
        versions = {"torch": torch.__version__, "cudnn": str(torch.backends.cudnn.version())}
        return About(versions, notes={"tf32": "off", "cudnn.benchmark": "on"})

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return methods_of(cell)

    def prepare(self, job: Job, method: str) -> Ready:
        made = _Convolution(job, method, self._stream)
        torch.cuda.synchronize()
        return Ready(
            made,
            lambda: DeviceClock(made.run, job.copies, self._stream.cuda_stream, capture=made.captured),
            note="channels planar" if job.cell.channels > 1 else "",
        )


open_library = TorchCUDA
