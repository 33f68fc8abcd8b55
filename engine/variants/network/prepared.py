"""Stages on a device where the host takes part: it computes layers, or hands out chunks of a batch."""

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from engine.device.backend import cuda_errors_in_words
from engine.device.cuda_kernels import PreparedPasses
from engine.device.cuda_memory import check, copy_in, copy_out, device_array
from engine.device.launches import Between, DeviceArray, HostStep, Operand, Pass, Prepared, Stream
from engine.device.numba_cuda import cuda, driver

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
        operands = (value for step in of_host for value in (step.takes, step.gives))
        more = [value for value in operands if isinstance(value, Between)]
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
        times: dict[str, float] = {}
        begin = time.perf_counter()

        def note(name: str) -> None:
            nonlocal begin
            cuda.synchronize()
            end = time.perf_counter()
            times[name] = (end - begin) * 1e3
            begin = end

        self._do(image, out, 0, note)
        return times

    def _do(self, image: Inputs, out: DeviceArray, stream: object, done: Callable[[str], None]) -> None:
        arrays: Arrays = {Operand.OUT: out, **self.between}
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
        scores = Between("scores", tuple(arrays[Operand.OUT].shape))
        results = self._on_host(step.gives if isinstance(step.gives, Between) else scores)
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


STREAMS = 2
Span = tuple[int, int, str, float, float]
"""Chunk, stream, step, begin and end in ms."""
Events = list[Stream]
"""CUDA events of Numba's, in order."""


class PreparedChunks:
    """A batch from pinned memory of the host, chunk after chunk; the host waits for the last one.

    `layers_of` returns the layers of a chunk of so many drawings. Of the `chunks` each has its first drawing,
    and the one past its last.
    """

    waits_for_device = True

    def __init__(self, layers_of: Callable[[int], PreparedPasses], chunks: list[tuple[int, int]]) -> None:
        self._layers_of = layers_of
        self._chunks = chunks
        self._streams: dict[int, Stream] = {}
        # By a stream's number and the drawings of a chunk: its layers, and their drawings and scores.
        self._kept: dict[tuple[int, int], tuple[PreparedPasses, DeviceArray, DeviceArray]] = {}

    def launch(self, image: Sequence[np.ndarray], out: DeviceArray, stream: object = None) -> None:
        """Compute the batch of the tuple (drawings,), in pinned memory, into a device array."""
        with cuda_errors_in_words("computing in chunks"):
            self._walk(image[0], out, None)

    def part_ms(
        self, image: Sequence[np.ndarray], out: DeviceArray, clock: Callable[[Prepared], float]
    ) -> dict[str, float]:
        """Return how long copies and kernels were at work, ms: the sums over all chunks."""
        times: dict[str, float] = {}
        for _, _, step, begin, end in self.spans(image, out):
            times[step] = times.get(step, 0.0) + end - begin
        return times

    def spans(self, image: Sequence[np.ndarray], out: DeviceArray) -> tuple[Span, ...]:
        """Return when each chunk was copied and computed."""
        # Twice: the first walk allocates.
        self.launch(image, out)
        marks: list[tuple[int, int, Events]] = []
        zero = cuda.event(timing=True)
        with cuda_errors_in_words("computing in chunks"):
            zero.record()
            zero.synchronize()
            self._walk(image[0], out, marks)
        spans: list[Span] = []
        for chunk, stream, events in marks:
            times = [float(zero.elapsed_time(event)) for event in events]
            for step, begin, end in zip(("copy in", "kernels", "copy out"), times, times[1:], strict=False):
                spans.append((chunk, stream, step, begin, end))
        return tuple(spans)

    def _walk(
        self, drawings: np.ndarray, out: DeviceArray, marks: list[tuple[int, int, Events]] | None
    ) -> None:
        row_bytes = 4 * out.shape[1]
        for number, (first, end) in enumerate(self._chunks):
            own, count = number % STREAMS, end - first
            if own not in self._streams:
                self._streams[own] = cuda.stream()
            stream = self._streams[own]
            # The last chunk, which may have fewer drawings, waits for those before it on its stream.
            if (own, count) not in self._kept:
                shapes = (count, *drawings.shape[1:]), (count, out.shape[1])
                image, scores = (device_array(shape, np.float32) for shape in shapes)
                self._kept[own, count] = self._layers_of(count), image, scores
            layers, image, scores = self._kept[own, count]
            events: Events = []

            def mark(stream: Stream = stream, events: Events = events) -> None:
                if marks is not None:
                    event = cuda.event(timing=True)
                    event.record(stream)
                    events.append(event)

            mark()
            copy_in(drawings[first:end], image, stream)
            mark()
            layers.launch((image,), scores, stream)
            mark()
            # The chunk's scores go to their rows among all.
            target = out.device_ctypes_pointer.value + first * row_bytes
            source, handle = scores.device_ctypes_pointer.value, driver.CUstream(int(stream.handle))
            check(driver.cuMemcpyDtoDAsync(target, source, count * row_bytes, handle))
            mark()
            if marks is not None:
                marks.append((number, own, events))
        for stream in self._streams.values():
            stream.synchronize()
