"""The order of launches that share values between passes, and the GPU of a thread: with made-up drivers."""

import importlib.util
import string
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from engine.compiled.late_names import Late
from engine.device import cuda_kernels, cuda_memory
from engine.device.cuda_kernels import PreparedPasses
from engine.device.cuda_memory import order_after
from engine.device.launches import Between, DeviceView, Handle, Launch, Operand, Pass
from engine.variants.matmul import Matrix

FREEING = 99
CAPTURED = 50
BESIDE_A_CAPTURE = 51


@pytest.fixture
def asked(monkeypatch):
    """Return what was asked of the driver and enqueued, in order."""
    asked = []
    driver = SimpleNamespace(
        CUevent_flags=SimpleNamespace(CU_EVENT_DISABLE_TIMING=2),
        cuEventCreate=lambda flags: 7,
        cuEventDestroy=lambda event: None,
        cuEventRecord=lambda event, stream: asked.append(("record", stream)),
        cuStreamWaitEvent=lambda stream, event, flags: asked.append(("wait", stream)),
        cuStreamIsCapturing=lambda stream: (906 if stream == BESIDE_A_CAPTURE else 0, stream == CAPTURED),
        CUresult=SimpleNamespace(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT=906),
    )
    monkeypatch.setattr(cuda_memory, "driver", driver)
    monkeypatch.setattr(cuda_memory, "check", lambda one: one[1] if isinstance(one, tuple) else one)
    bound = SimpleNamespace(enqueue=lambda stream, addresses: asked.append(("launch", stream)))
    kernel = SimpleNamespace(bound=lambda grid, block, values: bound)
    monkeypatch.setattr(cuda_kernels, "_loaded", lambda step: kernel)
    monkeypatch.setattr(cuda_kernels, "device_array", lambda shape, dtype: np.empty(shape, dtype))
    monkeypatch.setattr(cuda_kernels, "fill_bytes", lambda array, byte: None)
    monkeypatch.setattr(cuda_kernels, "freeing_stream", lambda: FREEING)
    return asked


def prepared(*between):
    launch = Launch((1, 1, 1), (1, 1, 1))
    return PreparedPasses([Pass("pass", None, (), launch, (Operand.IMAGE, *between, Operand.OUT))])


def picture(pitch):
    return DeviceView(256, (8, pitch, 1), np.dtype(np.float32))


def launched(passes, pitch, stream):
    passes.launch(picture(pitch), picture(pitch), Handle(stream))


FIRST, NEXT = [("launch", 1), ("record", 1)], [("wait", 2), ("launch", 2), ("record", 2)]
ORDERS = (
    ((Between("sums", (8, 8)),), ((8, 1), (32, 2), (8, 2)), [*FIRST, *NEXT, *NEXT]),
    ((Operand.SCRATCH,), ((8, 1), (32, 2), (8, 2)), [*FIRST, *NEXT, *NEXT]),
    # Without values between passes.
    ((), ((8, 1), (8, 2)), [("launch", 1), ("launch", 2)]),
    # A replay is ordered by whoever replays it; the default stream would spoil a capture beside it.
    *(
        ((Operand.SCRATCH,), ((8, 1), (8, captured), (8, 2)), [*FIRST, ("launch", captured), *NEXT])
        for captured in (CAPTURED, BESIDE_A_CAPTURE)
    ),
)


def test_that_launches_with_values_between_passes_wait_for_the_one_before_unless_captured(asked):
    for between, launches, wanted in ORDERS:
        asked.clear()
        passes = prepared(*between)
        for pitch, stream in launches:
            launched(passes, pitch, stream)
        assert asked == wanted
        # In the end its memory is freed behind the last launch.
        del passes
    asked.clear()
    order_after(1, 2)
    assert asked == [("record", 2), ("wait", 1)]


@pytest.fixture
def sent(asked, monkeypatch):
    """Return the name of each kernel that was enqueued, with the addresses of its arguments by number."""
    sent = []

    def loaded(step):
        def enqueue(stream, addresses):
            sent.append((step.name, dict(addresses)))

        return SimpleNamespace(bound=lambda *launch: SimpleNamespace(enqueue=enqueue))

    monkeypatch.setattr(cuda_kernels, "_loaded", loaded)
    return sent


def view(address):
    return DeviceView(address, (8, 8, 1), np.dtype(np.float32))


def test_that_each_array_of_a_launch_goes_where_its_placeholder_stands(sent):
    launch = Launch((1, 1, 1), (1, 1, 1))
    swapped = PreparedPasses([Pass("filter", None, (), launch, (Operand.OUT, 3, Operand.IMAGE))])
    swapped.launch(view(1), view(2))
    product = PreparedPasses([Pass("product", None, (), launch, (Matrix.LEFT, Matrix.RIGHT, 3, Operand.OUT))])
    for a, b, out in ((1, 2, 3), (4, 5, 6)):
        product.launch((view(a), view(b)), view(out))
    layers = PreparedPasses([Pass("layer", None, (), launch, (Operand.IMAGE, Operand.OUT))])
    layers.launch((view(7),), view(8))
    products = [("product", {0: a, 1: a + 1, 3: a + 2}) for a in (1, 4)]
    assert sent == [("filter", {0: 2, 2: 1}), *products, ("layer", {0: 7, 1: 8})]


def test_that_a_part_is_its_own_passes_alone(sent):
    launch = Launch((1, 1, 1), (1, 1, 1))
    names = (("a", ""), ("b", "both"), ("c", "both"), ("a", ""))
    passes = PreparedPasses([Pass(name, None, (), launch, (Operand.OUT,), part=part) for name, part in names])
    launched = []

    def clock(part):
        part.launch(view(1), view(2))
        launched.append([name for name, _ in sent])
        sent.clear()
        return 1.0

    assert passes.part_ms(view(1), view(2), clock) == {"a": 2.0, "both": 1.0}
    assert launched == [["a"], ["b", "c"], ["a"]]


DONE = 0


@pytest.fixture
def stack(monkeypatch):
    """Return a thread's stack of contexts, which a made-up driver changes; 0: none."""
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
    monkeypatch.setattr(cuda_memory, "driver", driver)
    return found


def context(stack, monkeypatch, number):
    """Return the context of a made-up GPU: 100 for the first, 101 for the second."""
    monkeypatch.setattr(cuda_memory, "cuda", SimpleNamespace(gpus=[nullcontext(), nullcontext()]))
    stack.append(100 + number)
    made = cuda_memory.Context(number)
    stack.pop()
    return made


def test_that_a_thread_has_its_own_gpu_after_a_call_also_one_that_fails(stack, monkeypatch):
    for before, number, within, after in (
        ([], 0, [100], [100]),  # what CUDA would take
        ([], 1, [101], []),
        ([100], 0, [100], [100]),
        ([100], 1, [100, 101], [100]),
        ([101], 0, [101, 100], [101]),
    ):
        stack.clear()
        used = context(stack, monkeypatch, number)
        stack += before
        with used.selected():
            assert stack == within
        assert stack == after
        # Selected again within it leaves no trace.
        with pytest.raises(KeyError), used.selected(), used.selected():
            raise KeyError
        assert stack == after


SOURCE = """
from engine.compiled.late_names import late
from engine.device.kernel_factory import kernel_factory

digits, hexdigits = late("string", "digits", "hexdigits")


@kernel_factory
def kernel(first: int):
    def digit_at(number):
        return (digits + hexdigits)[first + number]

    return digit_at
"""


def test_that_what_kernels_are_written_with_is_imported_for_the_first_of_a_module(tmp_path, monkeypatch):
    path = tmp_path / "of_a_kernel.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("of_a_kernel", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "of_a_kernel", module)
    spec.loader.exec_module(module)
    assert isinstance(module.digits, Late)
    assert module.kernel(2)(5) == "7"
    assert module.digits == string.digits
    assert module.kernel(2) is module.kernel(2)
