"""The passes of a network's stage of which the host computes some layers."""

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from engine.device.cuda_copies import copy_in, copy_out
from engine.device.cuda_kernels import PreparedPasses
from engine.device.launches import Between, DeviceArray, HostStep, Operand, Pass, Prepared
from engine.device.numba_cuda import cuda

Arrays = dict[Between | Operand, DeviceArray]
"""What steps of the host take and give."""
Inputs = Sequence[DeviceArray]
"""The drawings, alone in a tuple."""


class PreparedWithHost(PreparedPasses):
    """Passes with steps of the host between them; values go to and fro as the steps need them.

    The host waits for the device, so launches cannot be captured in a graph.
    """

    waits_for_device = True

    def __init__(self, steps: Sequence[Pass | HostStep]) -> None:
        of_host = [step for step in steps if isinstance(step, HostStep)]
        given = (value for step in of_host for value in (step.takes, step.gives))
        more = [value for value in given if isinstance(value, Between)]
        super().__init__([step for step in steps if isinstance(step, Pass)], more)
        self._steps_in_order = tuple(steps)
        self._host: dict[str, np.ndarray] = {}

    def launch(self, image: Inputs, out: DeviceArray, stream: object = None) -> None:
        """Do one forward pass; return when it is done."""
        self._do(image, out, stream or 0, lambda name: None)

    def part_ms(
        self, image: Inputs, out: DeviceArray, clock: Callable[[Prepared], float]
    ) -> dict[str, float]:
        """Return the time of each step, ms, by the host's clock, with the copies that the step needs."""
        found: dict[str, float] = {}
        begin = time.perf_counter()

        def note(name: str) -> None:
            nonlocal begin
            cuda.synchronize()
            end = time.perf_counter()
            found[name] = (end - begin) * 1e3
            begin = end

        self._do(image, out, 0, note)
        return found

    def _do(self, image: Inputs, out: DeviceArray, stream: object, done: Callable[[str], None]) -> None:
        arrays: Arrays = {Operand.OUT: out, **self.between()}
        on_host: set[str] = set()
        number = 0
        for step in self._steps_in_order:
            if isinstance(step, Pass):
                for value in step.arguments:
                    if isinstance(value, Between) and value.name in on_host:
                        copy_in(self._on_host(value), arrays[value], stream)
                        on_host.discard(value.name)
                self.launch_part(slice(number, number + 1), image, out, stream)
                number += 1
            else:
                self._compute(step, arrays, on_host, stream)
            done(step.name)
        cuda.synchronize()

    def _compute(self, step: HostStep, arrays: Arrays, on_host: set[str], stream: object) -> None:
        values = self._on_host(step.takes)
        if step.takes.name not in on_host:
            copy_out(arrays[step.takes], values, stream)
            cuda.synchronize()
        results = self._on_host(step.gives) if isinstance(step.gives, Between) else self._of_out(arrays)
        for item, result in zip(values, results, strict=True):
            step.compute(item, result)
        if isinstance(step.gives, Between):
            on_host.add(step.gives.name)
        else:
            copy_in(results, arrays[step.gives], stream)

    def _on_host(self, value: Between) -> np.ndarray:
        if value.name not in self._host:
            self._host[value.name] = np.empty(math.prod(value.shape), np.float32)
        return self._host[value.name].reshape(value.shape)

    def _of_out(self, arrays: Arrays) -> np.ndarray:
        return self._on_host(Between("scores", tuple(arrays[Operand.OUT].shape)))
