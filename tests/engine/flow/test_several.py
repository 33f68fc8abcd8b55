"""One stream over several devices, which do everything as late, and in as bad an order, as they may."""

import itertools
import threading
from collections import Counter
from functools import partial

import numpy as np
import pytest

import engine
from engine.device.device_list import NO_DRIVER, cpu_info, simulator_info, unusable_gpu
from engine.errors import Cancelled, DeviceFault, DeviceUnavailable, EngineError
from engine.flow.chunks import Queue
from tests.engine.flow.fake_gpus import install
from tests.engine.flow.fake_queues import FakeQueues

MASK = np.outer([1.0, 2.0, 3.0, 1.0, -2.0], [0.3, 1.0, -4.0])
PICTURE = np.random.default_rng(1).random((331, 6, 2), np.float32)
CHUNK_BYTES = 10 * PICTURE[0].nbytes


def bits(values):
    """Return an array that is equal only where every bit is."""
    return np.ascontiguousarray(values).view(np.uint8)


def stream(pictures=PICTURE, mask=MASK, **how):
    how = {"device": "cuda:all", "variant": "cpu-serial", "chunk_bytes": CHUNK_BYTES, "ring": 2} | how
    return engine.filter_stream(pictures, mask, **how)


@pytest.fixture(autouse=True)
def _no_threads_left():
    yield
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("stream-")]


@pytest.mark.parametrize("count", [2, 3, 8])
def test_that_every_gpu_has_its_share_of_a_picture_and_the_timeline_says_which(monkeypatch, count):
    install(monkeypatch, count, cpu_info())
    timeline, keys = stream().timeline, [f"cuda:{n}" for n in range(count)]
    assert (len(timeline.chunks), timeline.device) == (34, ", ".join(keys))
    assert {chunk["device"] for chunk in timeline.as_json()["chunks"]} == set(keys)
    order = [(span.chunk, span.queue) for span in timeline.spans]
    assert order == list(itertools.product(range(34), Queue))


class SlowQueues(FakeQueues):
    """Queues that finish nothing before the other GPU has filtered so many chunks."""

    def __init__(self, seed, others_done):
        super().__init__(seed)
        self._others_done = others_done

    def wait(self, mark):
        assert self._others_done.wait(60)
        super().wait(mark)


class CountedQueues(FakeQueues):
    """Queues that say when they have filtered so many chunks."""

    def __init__(self, seed, enough, is_enough):
        super().__init__(seed)
        self._left, self._is_enough = enough, is_enough

    def launch(self, prepared, image, out):
        super().launch(prepared, image, out)
        self._left -= 1
        if not self._left:
            self._is_enough.set()


def test_that_a_gpu_that_is_free_takes_what_a_slow_one_has_not_begun(monkeypatch):
    wanted = engine.correlate(PICTURE, MASK, device="cpu", variant="cpu-serial")
    is_enough = threading.Event()
    # All but the two chunks that the slow one has under way.
    kinds = (lambda: CountedQueues(0, 32, is_enough), lambda: SlowQueues(1, is_enough))
    install(monkeypatch, 2, cpu_info(), lambda number: kinds[number]())
    # Its memory is reached directly: nothing waits before the device is asked to finish a chunk.
    monkeypatch.setattr(FakeQueues, "is_pinned", lambda queues, array: True)
    streamed = stream()
    assert Counter(chunk.device for chunk in streamed.timeline.chunks) == {"cuda:0": 32, "cuda:1": 2}
    np.testing.assert_array_equal(bits(streamed.values), bits(wanted))


@pytest.mark.parametrize("count", [1, 3])
def test_that_the_pictures_of_a_batch_are_received_in_order(monkeypatch, count):
    # Some are of one chunk, some of several.
    pictures = [np.random.default_rng(n).random((5 + 17 * n % 40, 4), np.float32) for n in range(60)]
    wanted = [engine.correlate(picture, MASK, device="cpu", variant="cpu-serial") for picture in pictures]
    install(monkeypatch, count, cpu_info())
    received = []

    def receive(number, values):
        assert threading.current_thread() is threading.main_thread()
        received.append(number)
        np.testing.assert_array_equal(bits(values), bits(wanted[number]))

    stream(iter(pictures), receive=receive, chunk_bytes=20 * 4 * 4)
    assert received == list(range(60))


@pytest.mark.parametrize(("count", "is_slow"), [(3, False), (2, True)])
def test_that_pictures_are_taken_as_there_is_room_also_where_a_gpu_is_slow(monkeypatch, count, is_slow):
    may_go_on, most = threading.Event(), 2 * 2 * count + 1

    def queues(number):
        return SlowQueues(number, may_go_on) if is_slow and number == 0 else FakeQueues(number)

    install(monkeypatch, count, cpu_info(), queues)
    taken = received = 0

    def pictures():
        nonlocal taken
        for _ in range(60):
            taken += 1
            assert taken - received <= most
            if taken == most:
                may_go_on.set()
            yield PICTURE[:9]

    def receive(number, values):
        nonlocal received
        received += 1

    stream(pictures(), receive=receive)
    assert taken == received == 60


class FailingQueues(FakeQueues):
    """Queues of a GPU that fails with its kernel of that number."""

    def __init__(self, seed, number):
        super().__init__(seed)
        self._numbers = itertools.count()
        self._number = number

    def launch(self, prepared, image, out):
        if next(self._numbers) == self._number:
            raise DeviceFault("The GPU failed while filtering in chunks on cuda:1 (GPU 1)", "made to")
        super().launch(prepared, image, out)


@pytest.mark.parametrize(("number", "count"), [(0, 2), (1, 3), (5, 8), (5, 2)])
def test_that_what_the_others_did_is_received_before_a_gpus_fault(monkeypatch, count, number):
    pictures = [np.full((9, 4), n, np.float32) for n in range(80)]
    queues = install(
        monkeypatch, count, cpu_info(), lambda n: FailingQueues(n, number) if n == 1 else FakeQueues(n)
    )
    received, taken = [], []

    def receive(number, values):
        np.testing.assert_array_equal(values, 2.0 * number)
        received.append(number)

    def given():
        for picture_number, picture in enumerate(pictures):
            taken.append(picture_number)
            yield picture

    with pytest.raises(DeviceFault, match=r"on cuda:1 \(GPU 1\): made to"):
        stream(given(), [[2]], receive=receive)
    assert received == sorted(set(received))
    # The failed GPU had two at most.
    missing = sorted(set(taken) - set(received))
    assert 1 <= len(missing) <= 2 + 1
    assert all(found.is_idle for found in queues)


@pytest.mark.parametrize(("count", "pinned"), [(1, True), (1, False), (3, False)])
@pytest.mark.parametrize("who", ["pictures", "receive", "prepare"])
def test_that_a_failure_or_a_stop_leaves_nothing_under_way(monkeypatch, count, pinned, who):
    queues = install(monkeypatch, count, cpu_info())
    if pinned:
        monkeypatch.setattr(FakeQueues, "is_pinned", lambda queues, array: True)

    def pictures(error, at):
        for number in range(40):
            if who == "pictures" and number == at:
                raise error
            yield PICTURE[:9]

    def receive(error, at, received, number, values):
        received.append(number)
        if who == "receive" and number == at:
            raise error

    def prepare(error, *of):
        raise error

    for error, at in (
        (Cancelled("Stopped"), 0),
        (EngineError("Failed"), 1),
        (MemoryError("Full"), 7),
        (EngineError("Failed"), 17),
    ):
        received = []
        if who == "prepare":
            monkeypatch.setattr("engine.flow.stream.Preparing.ready", partial(prepare, error))
        with pytest.raises(type(error), match=str(error)):
            stream(pictures(error, at), receive=partial(receive, error, at, received))
        assert received == list(range(len(received)))
        assert all(found.is_idle for found in queues)
        assert who != "receive" or len(received) == at + 1
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("stream-")]


def test_that_an_error_of_an_earlier_picture_comes_first(monkeypatch):
    install(monkeypatch, 2, cpu_info(), lambda n: FailingQueues(n, 0) if n == 1 else FakeQueues(n))

    def pictures():
        yield PICTURE
        raise EngineError("the second picture")

    with pytest.raises(DeviceFault, match="GPU 1"):
        stream(pictures(), receive=lambda number, values: None)


def test_that_without_a_gpu_it_is_refused_as_cuda_is(monkeypatch):
    monkeypatch.setattr(
        "engine.device.devices.devices",
        lambda: (cpu_info(), unusable_gpu(NO_DRIVER), simulator_info()),
    )
    with pytest.raises(DeviceUnavailable, match=r"device 'cuda:all': No NVIDIA driver\. Use the CPU"):
        stream(PICTURE)
