"""The GPU of a thread, with a made-up driver."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from engine.device.device_list import missing

pytestmark = pytest.mark.skipif(bool(missing), reason="needs numba-cuda, not simulated")
DONE = 0


@pytest.fixture
def stack(monkeypatch):
    """Return a thread's stack of contexts, which a made-up driver changes; 0: none."""
    from engine.device import cuda_streams

    found = []

    def select(context):
        found[-1:] = [context] if context else []
        return (DONE,)

    def pop():
        return DONE, found.pop()

    def push(context):
        found.append(context)
        return (DONE,)

    driver = SimpleNamespace(
        cuCtxGetCurrent=lambda: (DONE, found[-1] if found else 0),
        cuCtxSetCurrent=select,
        cuCtxPushCurrent=push,
        cuCtxPopCurrent=pop,
    )
    monkeypatch.setattr(cuda_streams, "driver", driver)
    return found


def context(stack, monkeypatch, number):
    """Return the context of a made-up GPU: 100 for the first, 101 for the second."""
    from engine.device import cuda_streams

    monkeypatch.setattr(cuda_streams, "cuda", SimpleNamespace(gpus=[nullcontext(), nullcontext()]))
    stack.append(100 + number)
    made = cuda_streams.Context(number)
    stack.pop()
    return made


@pytest.mark.parametrize(
    ("before", "number", "within", "after"),
    [
        ([], 0, [100], [100]),  # what CUDA would take
        ([], 1, [101], []),
        ([100], 0, [100], [100]),
        ([100], 1, [100, 101], [100]),
        ([101], 0, [101, 100], [101]),
    ],
)
def test_that_a_thread_has_its_own_gpu_after_a_call(stack, monkeypatch, before, number, within, after):
    used = context(stack, monkeypatch, number)
    stack += before
    with used.selected():
        assert stack == within
    assert stack == after


def test_that_a_thread_has_its_own_gpu_after_a_call_that_fails(stack, monkeypatch):
    used = context(stack, monkeypatch, 1)
    stack.append(100)
    with pytest.raises(KeyError), used.selected():
        raise KeyError
    assert stack == [100]


def test_that_selecting_again_within_leaves_no_trace(stack, monkeypatch):
    used = context(stack, monkeypatch, 1)
    stack.append(100)
    with used.selected():
        used.select()
        with used.selected():
            pass
    assert stack == [100]
