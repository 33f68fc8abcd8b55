"""A stream that several threads have pictures computed by, on a thread of its own."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Self

import numpy as np

from engine.api.request import Call
from engine.device_info import DeviceInfo
from engine.errors import DeviceFault, EngineError
from engine.flow.stream import Asked, Stream
from engine.geometry.layout import Layout


@dataclass(eq=False)
class _Asked:
    call: Call
    out: np.ndarray
    number: int = 0  # in the stream
    done: Future[np.ndarray] = field(default_factory=Future)


class SharedStream:
    """Computes what threads ask for, in that order; copies of one picture run beside kernels of others.

    A context manager. Where a picture breaks the stream off, those under way are computed one by one, so that
    each failure is that of its picture, and the stream goes on; a device that has failed fails all.
    """

    def __init__(self, layout: Layout, gpus: Sequence[DeviceInfo]) -> None:
        self._layout, self._gpus = layout, gpus
        self._asked: SimpleQueue[_Asked | None] = SimpleQueue()
        self._under_way: deque[_Asked] = deque()
        self._fault: BaseException | None = None
        self._thread = Thread(target=self._run, name="stream", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._asked.put(None)
        self._thread.join()

    def computed(self, call: Call, out: np.ndarray) -> np.ndarray:
        """Return what a call computes, in `out`. Called on: any thread; it waits."""
        asked = _Asked(call, out)
        # Chosen here: the stream's thread has others' pictures to launch.
        call.job()
        self._asked.put(asked)
        return asked.done.result()

    def _run(self) -> None:
        """Compute until there is no more. Called on: the stream's thread."""
        while (first := self._asked.get()) is not None:
            self._under_way.append(first)
            try:
                if self._fault is not None:
                    raise self._fault
                self._stream()
            except BaseException as fault:  # noqa: BLE001 - raised by each who asks
                self._fault = fault
                while self._under_way:
                    self._under_way.popleft().done.set_exception(fault)

    def _stream(self) -> None:
        stream = Stream(layout=self._layout, receive=self._received, gpus=self._gpus)
        try:
            stream.run(self._plans())
        except DeviceFault:
            raise
        except (EngineError, MemoryError):
            while self._under_way:
                self._alone(self._under_way.popleft())

    def _plans(self) -> Iterator[Asked | None]:
        """Yield what is asked for; of nothing more, once nothing is under way, the stream ends."""
        yield self._under_way[0].call, self._under_way[0].out
        number = 0
        while True:
            try:
                asked = self._asked.get(block=not self._under_way)
            except Empty:
                yield None
                continue
            if asked is None:
                self._asked.put(None)
                return
            asked.number = number = number + 1
            self._under_way.append(asked)
            yield asked.call, asked.out

    def _alone(self, asked: _Asked) -> None:
        try:
            asked.done.set_result(asked.call.filter(asked.out))
        except DeviceFault:
            self._under_way.appendleft(asked)
            raise
        except (EngineError, MemoryError) as error:
            asked.done.set_exception(error)

    def _received(self, number: int, values: np.ndarray) -> None:
        # Where a GPU has failed, what others have done is received, and what it had is not.
        asked = next(one for one in self._under_way if one.number == number)
        self._under_way.remove(asked)
        asked.done.set_result(values)
