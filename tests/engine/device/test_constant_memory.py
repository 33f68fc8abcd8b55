"""Constants and captures without a device: made-up kernels, code and driver."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from engine.device import loaded_kernel
from engine.device.backend import Buffers
from engine.device.cuda import LaunchGraph
from engine.device.cuda_kernels import PreparedPasses
from engine.device.device_list import missing
from engine.device.launches import CAPTURE_LOCK, DeviceView, Launch, Pass
from engine.device.loaded_kernel import MOST_WITH_CONSTANTS, with_constant
from engine.device.numba_cuda import cuda, float32, int64

pytestmark = pytest.mark.skipif(bool(missing), reason="needs numba-cuda, not simulated")
SIGNATURE = (float32[:, ::1], int64)
PICTURE = DeviceView(4096, (2, 3, 1), np.dtype(np.float32))


class Kernel:
    """A made-up dispatcher."""


class Copy:
    """A made-up copy of the code: what its constant array holds, and what its launches read there."""

    def __init__(self, written):
        self.contents = np.zeros(1, np.float32)
        self.written = written
        self.under_way = []
        self.read = []

    def write(self, name, contents):
        self.written.append(contents.tobytes())
        self.contents = contents

    def bound(self, grid, block, arguments):
        # A launch is enqueued, and reads the array when the device comes to it.
        return SimpleNamespace(enqueue=lambda *to: self.under_way.append(float(self.contents[0])))

    def finish(self):
        """Do what was enqueued: note what each launch should have read, and what it did read."""
        self.read += [(wanted, float(self.contents[0])) for wanted in self.under_way]
        self.under_way.clear()


class Loads:
    """A made-up device: the copies that were loaded, and the values that were written, in order."""

    def __init__(self, device):
        self.copies = []
        self.written = []
        self.device = device

    def new_copy(self, dispatcher, signature):
        self.copies.append(Copy(self.written))
        return self.copies[-1]

    def synchronize(self):
        for copy in self.copies:
            copy.finish()


@pytest.fixture
def loads(device, monkeypatch):
    found = Loads(device)
    monkeypatch.setattr(loaded_kernel, "_new_copy", found.new_copy)
    monkeypatch.setattr(cuda, "synchronize", found.synchronize)
    return found


def values(number):
    return np.full((2, 2), number, np.float32)


def asked(kernel, number, signature=SIGNATURE):
    return with_constant(kernel, signature, "weights", values(number))


def test_that_the_same_values_are_loaded_once_and_others_by_themselves(loads):
    kernel = Kernel()
    first, second = asked(kernel, 1), asked(kernel, 2)
    assert asked(kernel, 1) is first
    assert first is not second
    # As float32, in C order.
    table = np.arange(6.0).reshape(2, 3)
    with_constant(kernel, SIGNATURE, "weights", np.asfortranarray(table))
    wanted = (values(1), values(2), table.astype(np.float32))
    assert loads.written == [array.tobytes() for array in wanted]


def test_that_launches_read_the_weights_that_they_were_enqueued_with(loads):
    kernel, held = Kernel(), None
    for number in range(200):
        # The variant that was prepared before is dropped when the next one is there.
        held = asked(kernel, number)
        assert held.contents[0] == number
        held.bound((1, 1), (1, 1), (number,)).enqueue(0, ())
    assert len(loads.written) == 200
    assert len(loads.copies) <= MOST_WITH_CONSTANTS + 1
    loads.synchronize()
    read = [pair for copy in loads.copies for pair in copy.read]
    assert len(read) == 200
    assert all(wanted == found for wanted, found in read)


def test_that_a_prepared_variant_holds_its_copy(loads):
    kernel = Kernel()

    def prepared(number):
        launch, constant = Launch((1, 1, 1), (1, 1, 1)), ("weights", values(number))
        return PreparedPasses([Pass("correlate", kernel, SIGNATURE, launch, (number,), constant)])

    first = prepared(0)
    for number in range(1, 3 * MOST_WITH_CONSTANTS):
        prepared(number).launch(PICTURE, PICTURE)
    count = len(loads.copies)
    first.launch(PICTURE, PICTURE)
    loads.synchronize()
    assert loads.copies[0].read == [(0.0, 0.0)]
    del first
    prepared(100), prepared(101)
    assert len(loads.copies) == count


def is_alone():
    """Return whether another thread would have to wait for the whole device."""

    def take():
        is_free = CAPTURE_LOCK.acquire(blocking=False)
        if is_free:
            CAPTURE_LOCK.release()
        return is_free

    with ThreadPoolExecutor(1) as threads:
        return not threads.submit(take).result()


class Witness:
    """Records calls that concern the whole device; each checks that it is the only one."""

    def __init__(self):
        self.calls = []

    def of(self, name, answer=None):
        def call(*arguments, **named):
            assert is_alone(), name
            self.calls.append(name)
            return answer

        return call


@pytest.fixture
def witness(monkeypatch):
    """Return what sees the calls of a made-up driver; in the end the lock is free."""
    from cuda.bindings import driver

    found, done = Witness(), driver.CUresult.CUDA_SUCCESS
    for name in ("cuStreamBeginCapture", "cuMemsetD8", "cuCtxSynchronize"):
        monkeypatch.setattr(driver, name, found.of(name, (done,)))
    monkeypatch.setattr(driver, "cuStreamEndCapture", found.of("cuStreamEndCapture", (done, "graph")))
    # What is made of a graph after its capture needs no lock.
    monkeypatch.setattr(driver, "cuGraphInstantiate", lambda *arguments: (done, "executable"))
    for name in ("cuGraphDestroy", "cuGraphExecDestroy"):
        monkeypatch.setattr(driver, name, lambda *arguments: (done,))
    monkeypatch.setattr(cuda, "defer_cleanup", nullcontext)
    monkeypatch.setattr(cuda, "synchronize", found.of("synchronize"))
    assert not is_alone()
    yield found
    assert not is_alone()


def test_that_constants_are_written_by_one_thread_at_a_time(witness, device, monkeypatch):
    monkeypatch.setattr(Copy, "write", witness.of("write"))
    copies = [Copy([]) for _ in range(MOST_WITH_CONSTANTS + 1)]
    monkeypatch.setattr(loaded_kernel, "_new_copy", lambda *arguments: copies.pop())
    kernel = type("Kernel", (), {})()
    for number in range(MOST_WITH_CONSTANTS + 2):
        with_constant(kernel, (float32[:, ::1],), "weights", np.full((2, 2), number, np.float32))
    # The first ones are new copies; one that is written anew has to be waited for.
    assert witness.calls == [*["write"] * (MOST_WITH_CONSTANTS + 1), "synchronize", "write"]


@pytest.mark.parametrize("fails", [False, True])
def test_that_launches_are_captured_by_one_thread_at_a_time(witness, fails):
    def launch(image, out, stream):
        witness.of("launch")()
        if fails:
            raise ValueError("no launch")

    prepared, buffers = SimpleNamespace(launch=launch), Buffers(None, None, np.zeros(1))
    with pytest.raises(ValueError, match="no launch") if fails else nullcontext():
        LaunchGraph(prepared, buffers, SimpleNamespace(handle=0), 2)
    launches = ["launch"] * (1 if fails else 2)
    assert witness.calls == ["cuStreamBeginCapture", *launches, "cuStreamEndCapture"]


def test_that_a_capture_may_come_to_what_concerns_the_whole_device():
    # Else its own thread would wait for itself for ever.
    with CAPTURE_LOCK, CAPTURE_LOCK:
        assert is_alone()
