"""Our own CUDA variants, and what `auto` chooses among them; batches one picture after another."""

from typing import Any

import numpy as np

from bench.peers.cells import Cell
from bench.peers.device_clock import DeviceClock
from bench.peers.library import About, Job, Ready, Refused
from bench.peers.our_variants import chosen, keys
from engine.device.device_list import versions
from engine.device.devices import backend, device_named
from engine.device.launches import DeviceKind
from engine.device.numba_cuda import cuda
from engine.errors import EngineError
from engine.work.filtering.variants import VARIANTS

METHODS = ("auto", "register-blocked", "digit-sums", "separable-fused", "tiled")
# In tables of other types they would be columns of refusals.
_UINT8_ONLY = {variant.key for variant in VARIANTS if variant.uint8_only}


class _Filter:
    def __init__(self, job: Job, prepared: Any, stream: Any) -> None:
        self._backend = backend("cuda:0")
        self._prepared, self._stream = prepared, stream
        self._buffers = []
        for _ in range(job.copies):
            placed = [self._backend.allocate(picture, result_dtype=picture.dtype) for picture in job.pictures]
            for buffers, picture in zip(placed, job.pictures, strict=True):
                self._backend.upload(np.array(picture), buffers)
            self._buffers.append(placed)
        for buffers in self._buffers[0]:
            self._backend.fill_result(buffers)

    def run(self, copy: int) -> None:
        for buffers in self._buffers[copy]:
            self._prepared.launch(buffers.image, buffers.out, self._stream)

    def results(self) -> np.ndarray:
        self._stream.synchronize()
        return np.stack([self._backend.download(buffers) for buffers in self._buffers[0]])


class HaloscopeCUDA:
    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        try:
            self._device = device_named("cuda:0")
            backend("cuda:0").activate()
        except EngineError as error:
            raise Refused(str(error)) from error
        self._methods = keys(methods or METHODS, DeviceKind.CUDA)
        self._stream = cuda.stream()

    def about(self) -> About:
        facts = {"device": self._device.title} | self._device.facts
        return About(versions(), notes={"facts": facts})

    def methods(self, cell: Cell) -> tuple[str, ...]:
        return tuple(key for key in self._methods if cell.dtype == "uint8" or key not in _UINT8_ONLY)

    def prepare(self, job: Job, method: str) -> Ready:
        choice, problem, mask = chosen(method, job, self._device)
        added_error = choice.variant.added_error(problem, mask)
        prepared = choice.variant.prepare(problem, mask, choice.block)
        made = _Filter(job, prepared, self._stream)
        handle = int(self._stream.handle)
        return Ready(
            made,
            lambda: DeviceClock(made.run, job.copies, handle, guard=cuda.defer_cleanup),
            note=f"{choice.variant.key} {choice.block}",
            added_error=added_error,
            steps=1 if added_error else 0,
        )


open_library = HaloscopeCUDA
