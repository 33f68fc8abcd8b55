"""What a program pays beside its kernel: fresh memory, and copies, which streams hide behind other work.

Called on: the thread that has selected the device (`Backend.activate`).
"""

import time
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_streams import check
from engine.device.device_memory import copy_in, copy_out
from engine.device.launches import CAPTURE_LOCK, Prepared
from engine.device.numba_cuda import cuda, driver

ROUNDS = 20
"""How often memory is allocated and freed; a round takes less than a millisecond."""
STREAM_ROUNDS = 5


class FreshMemory(NamedTuple):
    """Medians of allocating and of freeing, ms."""

    allocate_ms: float
    free_ms: float


def fresh_memory(sizes: Sequence[int]) -> FreshMemory:
    """Allocate and free arrays of so many bytes by the driver itself (cuMemAlloc, cuMemFree).

    Runs take their memory from a pool (`device_memory.py`): how long a run waited for its own depends on
    which run was before it.
    """
    allocating, freeing = [], []
    with cuda_errors_in_words(f"allocating {sum(sizes) / 1e6:,.1f} MB"):
        for _ in range(1 + ROUNDS):
            addresses: list[object] = []
            begin = time.perf_counter()
            try:
                addresses.extend(check(driver.cuMemAlloc(size)) for size in sizes)
            finally:
                between = time.perf_counter()
                for address in addresses:
                    check(driver.cuMemFree(address))
            allocating.append((between - begin) * 1e3)
            freeing.append((time.perf_counter() - between) * 1e3)
    # The first round takes what the driver has to ask the system for.
    return FreshMemory(median(allocating[1:]), median(freeing[1:]))


class Streamed(NamedTuple):
    """Time for each picture, ms, on one stream and on two that take turns; and every result."""

    one_ms: float
    two_ms: float
    results: list[np.ndarray]


def on_streams(machine: Backend, prepared: Prepared, picture: np.ndarray, pictures: int) -> Streamed:
    """Filter a picture so many times: copy in, kernel and copy out one after another on each stream.

    Picture and results lie in pinned memory of the host, so that a copy of one stream can run beside the
    kernel of the other; the prepared variant must not keep values between passes.
    """
    source = cuda.pinned_array(picture.shape, picture.dtype)
    source[...] = picture
    results = [cuda.pinned_array(picture.shape, np.float32) for _ in range(pictures)]
    slots = [(cuda.stream(), machine.allocate(source, results[0])) for _ in range(2)]
    times_ms: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(1 + STREAM_ROUNDS):
        for streams, found in times_ms.items():
            # What a launch leaves out must not seem right with an earlier one's result.
            for result in results:
                result.fill(np.nan)
            found.append(_walk(prepared, source, results, slots[:streams]))
    # The first round loads the kernel.
    one_ms, two_ms = (median(found[1:]) / pictures for found in times_ms.values())
    return Streamed(one_ms, two_ms, results)


def _walk(
    prepared: Prepared, source: np.ndarray, results: list[np.ndarray], slots: list[tuple[Any, Buffers]]
) -> float:
    with CAPTURE_LOCK, cuda_errors_in_words("filtering on streams"):
        begin = time.perf_counter()
        for number, result in enumerate(results):
            stream, buffers = slots[number % len(slots)]
            copy_in(source, buffers.image, stream)
            prepared.launch(buffers.image, buffers.out, stream)
            copy_out(buffers.out, result, stream)
        for stream, _ in slots:
            stream.synchronize()
        return (time.perf_counter() - begin) * 1e3
