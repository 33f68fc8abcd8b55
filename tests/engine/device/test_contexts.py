"""The GPU of a thread and the order of its streams, with a made-up driver."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from engine.device.cuda_presence import missing

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


@pytest.fixture
def events(monkeypatch):
    """Return what a made-up driver was asked of events, and what it says of captures."""
    from engine.device import cuda_streams

    made = SimpleNamespace(asked=[], capturing=(DONE, 0))
    driver = SimpleNamespace(
        CUresult=SimpleNamespace(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT=906),
        CUevent_flags=SimpleNamespace(CU_EVENT_DISABLE_TIMING=2),
        cuStreamIsCapturing=lambda stream: made.capturing,
        cuEventCreate=lambda flags: (DONE, 5),
        cuEventDestroy=lambda event: (DONE,),
        cuEventRecord=lambda event, stream: made.asked.append(("record", stream)) or (DONE,),
        cuStreamWaitEvent=lambda stream, event, flags: made.asked.append(("wait", stream)) or (DONE,),
    )
    monkeypatch.setattr(cuda_streams, "driver", driver)
    return made


@pytest.mark.parametrize(("answer", "is_captured"), [((DONE, 0), False), ((DONE, 1), True), ((906, 0), True)])
def test_that_a_default_stream_beside_a_capture_counts_as_captured(events, answer, is_captured):
    from engine.device import cuda_streams

    events.capturing = answer
    assert cuda_streams.is_captured(0) is is_captured


def test_that_a_launch_waits_for_the_one_before_on_any_stream(events):
    """Also on one of the same handle, which may be another stream by now."""
    from engine.device.cuda_streams import NewestLaunch

    newest = NewestLaunch()
    for stream in (7, 7, 8):
        newest.wait(stream)
        newest.record(stream)
    assert events.asked == [("record", 7), ("wait", 7), ("record", 7), ("wait", 8), ("record", 8)]
