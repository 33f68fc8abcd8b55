"""No thread waits for a whole device while another one captures launches: with a made-up driver."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.device import constant_memory
from engine.device.backend import Buffers
from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.constant_memory import MOST_LOADED, with_constant
from engine.device.cuda import CudaBackend, simulator_info
from engine.device.cuda_graph import LaunchGraph
from engine.device.cuda_kernels import float32
from engine.device.cuda_pool import Pool
from engine.device.cuda_rows import fill_bytes
from engine.device.numba_cuda import SIMULATED, cuda, missing
from engine.device.uploads import uploaded

pytestmark = pytest.mark.skipif(bool(SIMULATED or missing), reason="needs numba-cuda, not simulated")
SIGNATURE = (float32[:, ::1],)


def is_alone() -> bool:
    """Return whether another thread would have to wait for the whole device."""

    def take() -> bool:
        is_free = CAPTURE_LOCK.acquire(blocking=False)
        if is_free:
            CAPTURE_LOCK.release()
        return is_free

    with ThreadPoolExecutor(1) as threads:
        return not threads.submit(take).result()


class Witness:
    """Records calls that concern the whole device; each checks that it is the only one."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def of(self, name: str, answer: Any = None) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            assert is_alone(), name
            self.calls.append(name)
            return answer

        return call


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> Iterator[Witness]:
    """Return what sees the calls of a made-up driver; in the end the lock is free."""
    from cuda.bindings import driver

    found, done = Witness(), driver.CUresult.CUDA_SUCCESS
    for name in ("cuStreamBeginCapture", "cuMemsetD8", "cuCtxSynchronize"):
        monkeypatch.setattr(driver, name, found.of(name, (done,)))
    monkeypatch.setattr(driver, "cuStreamEndCapture", found.of("cuStreamEndCapture", (done, "graph")))
    # What is made of a graph after its capture needs no lock.
    monkeypatch.setattr(driver, "cuGraphInstantiate", lambda *arguments: (done, "executable"))
    monkeypatch.setattr(driver, "cuGraphDestroy", lambda *arguments: (done,))
    monkeypatch.setattr(cuda, "defer_cleanup", nullcontext)
    monkeypatch.setattr(cuda, "synchronize", found.of("synchronize"))
    assert not is_alone()
    yield found
    assert not is_alone()


def test_that_constants_are_written_by_one_thread_at_a_time(witness, device, monkeypatch):
    monkeypatch.setattr(constant_memory, "_new_copy", lambda *arguments: SimpleNamespace())
    monkeypatch.setattr(constant_memory, "_write", witness.of("write"))
    kernel = type("Kernel", (), {})()
    for number in range(MOST_LOADED + 2):
        with_constant(kernel, SIGNATURE, "weights", np.full((2, 2), number, np.float32))
    # The first ones are new copies; one that is written anew has to be waited for.
    assert witness.calls == [*["write"] * (MOST_LOADED + 1), "synchronize", "write"]


@pytest.mark.parametrize("fails", [False, True])
def test_that_launches_are_captured_by_one_thread_at_a_time(witness, fails):
    def launch(image: Any, out: Any, stream: Any) -> None:
        witness.of("launch")()
        if fails:
            raise ValueError("no launch")

    prepared, buffers = SimpleNamespace(launch=launch), Buffers(None, None, np.zeros(1))
    with pytest.raises(ValueError, match="no launch") if fails else nullcontext():
        LaunchGraph(prepared, buffers, SimpleNamespace(handle=0), 2)
    launches = ["launch"] * (1 if fails else 2)
    assert witness.calls == ["cuStreamBeginCapture", *launches, "cuStreamEndCapture"]


def test_that_arrays_are_filled_and_masks_uploaded_by_one_thread_at_a_time(witness, monkeypatch):
    array = SimpleNamespace(
        __cuda_array_interface__={"data": (4096, False)}, size=3, dtype=np.dtype(np.float32)
    )
    fill_bytes(array, 255)
    array = SimpleNamespace(shape=(3, 3), dtype=np.dtype(np.float32), copy_to_device=witness.of("upload"))
    pool = Pool(lambda shape, dtype: array, 1000)
    monkeypatch.setattr("engine.device.uploads.device_pool", lambda: pool)
    uploaded(np.ones((3, 3), np.float32))
    assert witness.calls == ["cuMemsetD8", "cuCtxSynchronize", "upload"]


def test_that_the_stream_of_a_backend_is_one_threads_at_a_time(witness, monkeypatch):
    stream = SimpleNamespace(synchronize=witness.of("synchronize"))
    monkeypatch.setattr(CudaBackend, "activate", lambda self: None)
    monkeypatch.setattr(cuda, "stream", lambda: stream)
    device = CudaBackend(simulator_info())
    copy, image = witness.of("copy"), np.ones((2, 2, 1), np.float32)
    array = SimpleNamespace(shape=(2, 2, 1), copy_to_device=copy, copy_to_host=copy)
    buffers = Buffers(array, array, image)
    device.upload(image, buffers)
    device.run(SimpleNamespace(launch=witness.of("launch")), buffers)
    device.download(buffers)
    device.upload((image, image), Buffers((array, array), array, image))
    once, twice = ["copy", "synchronize"], ["copy", "copy", "synchronize"]
    assert witness.calls == [*once, "launch", "synchronize", *once, *twice]


def test_that_a_capture_may_come_to_what_concerns_the_whole_device():
    # Else its own thread would wait for itself for ever.
    with CAPTURE_LOCK, CAPTURE_LOCK:
        assert is_alone()
