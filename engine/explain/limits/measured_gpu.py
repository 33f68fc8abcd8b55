"""Measures the limits of a GPU: kernels of known work, and the driver's own copy."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_streams import check
from engine.device.device_memory import device_array, fill_bytes
from engine.device.devices import backend
from engine.device.launches import DeviceArray, Kernel, Prepared, Signature, Stream, address_of
from engine.device.loaded_kernel import loaded_kernel
from engine.device.numba_cuda import driver, float32, int32
from engine.device_info import SIMULATOR, DeviceInfo, GpuAttributes
from engine.errors import DeviceUnavailable, OutOfDeviceMemory
from engine.explain.gpus import theoretical_limits
from engine.explain.limits.device_limits import DeviceLimits, Limit, limit_name, measured_well
from engine.explain.limits.gpu_rates_code import (
    INT8_TENSOR,
    L2_LOADS,
    MIXED,
    MULTIPLY_ADDS,
    SHARED_LOADS,
    THREADS,
    VECTOR_BYTES,
    Work,
    arithmetic_kernel,
    idle_kernel,
    l2_kernel,
    shared_kernel,
)
from engine.explain.limits.kept_limits import keep
from engine.explain.limits.messages import MeasureLimits
from engine.results.launch_facts import WARP
from engine.results.progress import Checkpoint, Progress

COPIED_BYTES = 1 << 30
# Smaller ones: what is in L2 is copied faster, and so is what lies closer together (H100, 128 MiB: 2.9
# instead of 2.4 TB/s).
SIZES = tuple(mega << 20 for mega in (2, 8, 16, 32, 64, 128, 256))
# Of a multiprocessor: as many threads as it has room for, where it has.
_BLOCKS = 8
# Blocks that do nothing: 0.6 ms of an H100.
_STARTED = 1 << 20
# Of each limit; the slowest devices get fewer samples.
_SAMPLES, _SAMPLING_S, _MOST_S = 9, 0.04, 0.2
_TENSOR_CAPABILITY = (8, 0)
_VALUES: Signature = (float32, float32, int32, int32, float32[::1])
Step = tuple[str, Callable[[], float]]


def answer(request: MeasureLimits, report: Checkpoint) -> DeviceLimits:
    """Measure the limits of a GPU and keep them. Called on: the host's main thread."""
    if request.device == SIMULATOR:
        raise DeviceUnavailable("The limits of the simulator", "its times mean nothing")
    # The first use of a GPU loads Numba's CUDA target.
    report(Progress("starting the device", 0.0, 5.0))
    machine = backend(request.device)
    limits = gpu_limits(machine, report)
    keep(machine.info, limits)
    return limits


def gpu_limits(machine: Backend, report: Checkpoint = lambda progress: None) -> DeviceLimits:
    """Measure all limits of a GPU; `report` is called before each."""
    return measured_well(lambda: _measured(machine, report))


def _measured(machine: Backend, report: Checkpoint) -> DeviceLimits:
    attributes = machine.info.attributes
    assert attributes is not None
    found: dict[str, float] = {}
    copies: dict[int, float] = {}
    with machine.selected():
        steps = _steps(machine, attributes)
        count = len(steps) + len(SIZES) + 1
        for number, (name, measure) in enumerate(steps):
            report(Progress(f"measuring {limit_name(name)}", number / count, 1.0))
            found[name] = measure()
        for number, size in enumerate((*SIZES, COPIED_BYTES), len(steps)):
            report(Progress(f"measuring copies of {size >> 20} MiB", number / count, 1.0))
            copies[2 * size] = _copy_rate(machine, size) if size in SIZES else copy_bytes_per_s(machine)
    found["copy_bytes_per_s"] = past_l2(copies, attributes.l2_bytes)
    # A kernel may do with the largest what it does with smaller ones.
    copies[2 * COPIED_BYTES] = found["copy_bytes_per_s"]
    # Where multiply-adds have lanes enough they are issued as fast as anything.
    issued = max(found["instructions_per_s"], found["multiply_adds_per_s"] / WARP)
    found["instructions_per_s"] = issued
    stated = theoretical_limits(machine.info)
    rates: dict[str, Any] = {name: Limit(value, stated.get(name)) for name, value in found.items()}
    return DeviceLimits(machine.info.title, **rates).with_copies(copies)


def past_l2(copies: Mapping[int, float], l2_bytes: int) -> float:
    """Return the highest rate of copies of more than four times what L2 holds, by the bytes of both sides."""
    return max(rate for size, rate in copies.items() if size > 4 * l2_bytes)


def copy_bytes_per_s(machine: Backend) -> float:
    """Return how many bytes the driver reads and writes per second when it copies 1 GiB within the device.

    A device with less memory copies as much as it has room for.
    """
    size = COPIED_BYTES
    with machine.selected():
        while True:
            try:
                return _copy_rate(machine, size)
            except OutOfDeviceMemory:
                if size <= SIZES[-1]:
                    raise
                size //= 2


def _copy_rate(machine: Backend, size: int) -> float:
    """Return how many bytes per second are read and written when so many are copied again and again."""
    with cuda_errors_in_words(f"allocating {2 * size / 1e6:,.0f} MB"):
        source, target = (device_array((size,), np.uint8) for _ in range(2))
    fill_bytes(source, 0)
    return 2 * size / _least_s(machine, _DriverCopy(size), source, target)


def _steps(machine: Backend, attributes: GpuAttributes) -> list[Step]:
    """Return the limits that a device has, each with what measures it; copies are measured apart."""
    blocks = attributes.multiprocessors * _BLOCKS
    out = device_array((blocks * THREADS,), np.float32)

    def rate(kernel: Callable[[], Kernel], signature: Signature, work: Work, *first: object) -> float:
        launch = _Launch(kernel(), signature, blocks, (*first, work.rounds, out))
        return blocks * THREADS * work.rounds * work.units / _least_s(machine, launch, out, out)

    def arithmetic(work: Work) -> float:
        return rate(lambda: arithmetic_kernel(work.name), _VALUES, work, 0.5, 0.5, 3)

    def shared() -> float:
        return rate(shared_kernel, (int32, float32[::1]), SHARED_LOADS)

    def l2() -> float:
        # Half of it: the other half is left for what else is there.
        size = max(1, attributes.l2_bytes // 2 // VECTOR_BYTES) * VECTOR_BYTES
        buffer = device_array((size // 4,), np.float32)
        fill_bytes(buffer, 0)
        return rate(l2_kernel, (float32[::1], int32, float32[::1]), L2_LOADS, buffer)

    def started(count: int) -> float:
        kernel: Callable[[], Kernel] = idle_kernel
        launch = _Launch(kernel(), (int32, float32[::1]), count, (count, out), WARP)
        return count / _least_s(machine, launch, out, out)

    steps: list[Step] = [
        ("multiply_adds_per_s", lambda: arithmetic(MULTIPLY_ADDS)),
        ("l2_bytes_per_s", l2),
        ("shared_bytes_per_s", shared),
        ("instructions_per_s", lambda: arithmetic(MIXED) / WARP),
        ("blocks_per_s", lambda: started(_STARTED)),
        ("launches_per_s", lambda: started(1)),
    ]
    if _has_tensor_cores(machine.info):
        steps += [("int8_tensor_multiply_adds_per_s", lambda: arithmetic(INT8_TENSOR))]
    return steps


def _has_tensor_cores(gpu: DeviceInfo) -> bool:
    return (gpu.limits.compute_capability or (0, 0)) >= _TENSOR_CAPABILITY


class _Launch:
    """A launch of one kernel with its arguments."""

    def __init__(
        self,
        kernel: Kernel,
        signature: Signature,
        blocks: int,
        arguments: tuple[object, ...],
        threads: int = THREADS,
    ) -> None:
        self._bound = loaded_kernel(kernel, signature).bound((blocks, 1, 1), (threads, 1, 1), arguments)

    def launch(self, image: DeviceArray, out: DeviceArray, stream: Stream = None) -> None:
        """Enqueue it."""
        self._bound.enqueue(int(stream.handle), ())


class _DriverCopy:
    """A copy of so many bytes from the picture to the result."""

    def __init__(self, size: int) -> None:
        self._size = size

    def launch(self, image: DeviceArray, out: DeviceArray, stream: Stream = None) -> None:
        """Enqueue it."""
        check(driver.cuMemcpyDtoDAsync(address_of(out), address_of(image), self._size, int(stream.handle)))


def _least_s(machine: Backend, prepared: Prepared, image: DeviceArray, out: DeviceArray) -> float:
    """Return the shortest time of a launch, seconds."""
    clock = machine.clock(prepared, Buffers(image, out, np.empty(0, np.float32)))
    begin, passed_s, samples = time.perf_counter(), 0.0, list[float]()
    while passed_s < _SAMPLING_S or (len(samples) < _SAMPLES and passed_s < _MOST_S):
        samples.append(clock.sample_ms())
        passed_s = time.perf_counter() - begin
    return min(samples) / 1e3
