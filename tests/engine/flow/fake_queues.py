"""A device for the pipeline that does everything as late, and in as bad an order, as its queues allow."""

import random
import threading
from collections import deque

import numpy as np

from engine.flow.chunks import Queue


class Point:
    """A point in a queue; it has a time once it was reached."""

    ms: float | None = None


class Mark:
    """Refers to a point until it is reused."""

    def __init__(self):
        self._point = Point()

    @property
    def point(self):
        assert self._point is not None, "used after it was given up for reuse"
        return self._point

    def forget(self):
        assert self.point.ms is not None, "given up for reuse before it was reached"
        self._point = None


class FakeQueues:
    """Queues that advance only during a wait, one step of a randomly chosen queue at a time.

    Without `heeds_marks` a queue does not wait for another's mark, as if `after` had been forgotten; with
    `is_eager` everything is done as soon as it may be, instead of as late.
    """

    def __init__(self, seed, *, heeds_marks=True, is_eager=False):
        self._random = random.Random(seed)
        self._heeds_marks = heeds_marks
        self._is_eager = is_eager
        self._queues = {queue: deque() for queue in (Queue.COPY_IN, Queue.KERNEL, Queue.COPY_OUT)}
        self._lock = threading.RLock()
        self._memory = {}
        self._pinned = []
        self._steps = 0

    def image(self, slot, job):
        return self._array((slot, "image"), job.shape, job.sources[0].dtype)

    def result(self, slot, job):
        return self._array((slot, "out"), job.result_shape, job.target.dtype)

    def _array(self, name, shape, dtype):
        size = int(np.prod(shape)) * dtype.itemsize
        memory = self._memory.setdefault(name, np.full(1 << 16, 255, np.uint8))
        return memory[:size].view(dtype).reshape(shape)

    def pinned(self, slot, which, like):
        array = self._array((slot, "pinned " + which), *like)
        self.pin(array)
        return array

    def pin(self, array):
        """Make an array one that copies can reach."""
        self._pinned.append(array)
        return array

    def is_pinned(self, array):
        return any(np.shares_memory(array, pinned) for pinned in self._pinned)

    def copy_in(self, host, on_device, row):
        assert self.is_pinned(host)
        self._put(Queue.COPY_IN, lambda: np.copyto(on_device[row : row + len(host)], host))

    def launch(self, prepared, image, out):
        self._put(Queue.KERNEL, lambda: prepared.launch(image, out))

    def copy_out(self, on_device, row, host):
        assert self.is_pinned(host)
        self._put(Queue.COPY_OUT, lambda: np.copyto(host, on_device[row : row + len(host)]))

    def mark(self, queue):
        mark = Mark()
        point = mark.point

        def reach():
            point.ms = float(self._steps)

        self._put(queue, reach)
        return mark

    def after(self, queue, mark):
        with self._lock:
            self._queues[queue].append((mark.point if self._heeds_marks else None, lambda: None))

    def wait(self, mark):
        with self._lock:
            while mark.point.ms is None:
                self._step()

    def ms(self, mark):
        if not self._heeds_marks:
            self.wait(mark)
        assert mark.point.ms is not None
        return mark.point.ms

    def forget(self, marks):
        for mark in marks:
            mark.forget()

    def drain(self):
        with self._lock:
            while any(self._queues.values()):
                self._step()

    @property
    def is_idle(self):
        """Whether all queues are empty."""
        return not any(self._queues.values())

    def _put(self, queue, action):
        with self._lock:
            self._queues[queue].append((None, action))
            if self._is_eager:
                self.drain()

    def _step(self):
        ready = [
            queue
            for queue in self._queues.values()
            if queue and (queue[0][0] is None or queue[0][0].ms is not None)
        ]
        _, action = self._random.choice(ready).popleft()
        self._steps += 1
        action()
