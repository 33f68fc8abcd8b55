"""What is done to the engine's process so that rare moments are met: it replaces its `serve`."""

import os
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from engine.device.backend import cuda_errors_in_words
from engine.host.__main__ import serve
from engine.host.request import HostOptions
from engine.work import answers

# Between the making of a segment and its getting a size lie 20 us, which no kill from outside would meet.
EMPTY_FOR_S = 0.004
# The first weight of a mask whose filtering is to lose the device.
FAULTY_WEIGHT = -777.0


def serve_slowly(connection: Connection, options: HostOptions) -> None:
    """Serve; shared segments stay empty for a while, and a marked mask stores out of range on the GPU."""
    give_size = os.ftruncate

    def give_size_late(file: int, length: int) -> None:
        time.sleep(EMPTY_FOR_S)
        give_size(file, length)

    os.ftruncate = give_size_late
    if options.use_cuda:
        _mark_faults()
    serve(connection, options)


def _mark_faults() -> None:
    def faulty(work: Any) -> Any:
        def do(request: Any, report: Any) -> Any:
            if request.job.mask.weights.flat[0] == FAULTY_WEIGHT:
                _store_out_of_range()
            return work(request, report)

        return do

    answers.preview, answers.run = faulty(answers.preview), faulty(answers.run)


def _store_out_of_range() -> None:
    # Numba's CUDA target: only where there is a fault to make.
    from engine.device.numba_cuda import cuda

    @cuda.jit
    def far_away(out: Any) -> None:
        out[1 << 40] = 1.0

    with cuda_errors_in_words("running the kernel"):
        far_away[1, 1](cuda.device_array(1, np.float32))
        cuda.synchronize()
