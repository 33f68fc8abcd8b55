"""Our own CPU variants, and what `auto` chooses among them."""

import numpy as np

from bench.peers.cells import Cell
from bench.peers.library import About, Job, Ready, host_ready
from bench.peers.our_variants import chosen, keys
from engine.device.device_list import versions
from engine.device.devices import device_named
from engine.device.host_memory import empty_result
from engine.device.launches import DeviceKind

METHODS = ("auto", "cpu-parallel", "cpu-serial", "cpu-separable")


class HaloscopeCPU:
    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        self._threads = threads
        self._methods = keys(methods or METHODS, DeviceKind.CPU)

    def about(self) -> About:
        return About(versions(), self._threads)

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return self._methods

    def prepare(self, job: Job, method: str) -> Ready:
        choice, problem, mask = chosen(method, job, device_named("cpu"))
        added_error = choice.variant.added_error(problem, mask)
        prepared = choice.variant.prepare(problem, mask, choice.block)

        shape = job.pictures.shape[1:]

        def one(picture: np.ndarray, result: np.ndarray) -> None:
            prepared.launch(picture.reshape(shape), result.reshape(shape))

        def empty(picture: np.ndarray) -> np.ndarray:
            # As `engine.correlate` makes it; peers get it from NumPy, as their own callers do.
            return empty_result(picture, picture.shape, picture.dtype)

        return host_ready(
            job, one, empty, note=choice.variant.key, added_error=added_error, steps=1 if added_error else 0
        )


open_library = HaloscopeCPU
