"""Measures the limits of a GPU: kernels that do one thing as fast as it can, and the driver's own copy.

What a kernel does per thread is known, and nothing else counts. The work is emitted, not left to the
compiler: it has many independent chains, each round of the loop has many instructions, and its result is
stored, so that nothing is combined or left out.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from engine.device.backend import Backend, Buffers, cuda_errors_in_words
from engine.device.cuda_memory import check, device_array, fill_bytes
from engine.device.kernel_factory import kernel_factory
from engine.device.launches import DeviceArray, Kernel, Prepared, Signature, Stream, address_of
from engine.device.loaded_kernel import loaded_kernel
from engine.device.numba_cuda import cuda, driver, float32, int32, types
from engine.device_info import GpuAttributes
from engine.errors import OutOfDeviceMemory
from engine.explain.device_limits import DeviceLimits, Limit, limit_name, measured_well
from engine.explain.launches import theoretical_limits
from engine.results.occupancy import WARP
from engine.results.problem import Checkpoint, Progress
from engine.variants.emit.cuda_code import CudaCode, device_function
from engine.variants.emit.value import F32, I32, Value, in_pairs, narrow

THREADS = 256
"""Threads of a block."""
SHARED_ROWS = 2
"""Vectors of 16 bytes in shared memory for each thread."""
_CHAINS, _STEPS = 8, 32
# Sums of a tensor-core multiplication take four registers.
_TENSOR_CHAINS, _TENSOR_STEPS = 8, 8
_LOADS = 8
VECTOR_BYTES = 16


class RoundWork(NamedTuple):
    """What each thread does in a round of a kernel's loop."""

    name: str
    units: float  # multiply-adds, operations, bytes
    # Of a launch: 0.5 ms on an H100, and on others about as long, as each multiprocessor has as much work.
    rounds: int


_REPEATED = _CHAINS * _STEPS
MULTIPLY_ADDS = RoundWork("multiply-adds", _REPEATED, 256)
MIXED = RoundWork("instructions", 2 * _REPEATED, 128)
SHARED_LOADS = RoundWork("shared loads", _LOADS * VECTOR_BYTES, 512)
L2_LOADS = RoundWork("L2 loads", _LOADS * VECTOR_BYTES, 96)
# 16 x 8 sums of 32 products, by the 32 threads of a warp.
INT8_TENSOR = RoundWork("int8 products", _TENSOR_CHAINS * _TENSOR_STEPS * 16 * 8 * 32 / 32, 128)


def _rounds(code: "CudaCode", values: object, rounds: "Value", step: "Callable[[Any], Any]") -> Any:
    """Emit a loop that stays one; return the values that it leaves behind."""

    def round_of(carried: Any) -> Any:
        made, left = step(carried[0]), carried[1] - 1
        return [made, left], left > 0

    return code.do_while([values, narrow(rounds)], round_of)[0]


def _emit_multiply_adds(code: "CudaCode", x: "Value", y: "Value", n: "Value", rounds: "Value") -> "Value":
    def step(sums: "list[Value]") -> "list[Value]":
        for _ in range(_STEPS):
            sums = [code.fma(one, x, y) for one in sums]
        return sums

    begin = [x + float(number) for number in range(_CHAINS)]
    return in_pairs(_rounds(code, begin, rounds, step), lambda a, b: a + b)


def _emit_mixed(code: "CudaCode", x: "Value", y: "Value", n: "Value", rounds: "Value") -> "Value":
    """Emit as many multiply-adds of float32 as operations of int32, in turn: they have lanes of their own."""

    def step(values: Any) -> object:
        for number in range(_STEPS):
            pairs = [
                (code.fma(one, x, y), other ^ word if number % 2 else other + n)
                for one, other in zip(*values, strict=True)
            ]
            values = [list(one) for one in zip(*pairs, strict=True)]
        return values

    word = narrow(rounds)
    begin = [[x + float(number) for number in range(_CHAINS)], [n + number for number in range(_CHAINS)]]
    floats, integers = _rounds(code, begin, rounds, step)
    return in_pairs([*floats, *(code.float32(one) for one in integers)], lambda a, b: a + b)


def _loaded(code: "CudaCode", line: str, kind: str, address: "Value") -> "list[Value]":
    """Emit a load of four float32 at once that the compiler neither merges with another one nor moves."""
    result = ir.LiteralStructType([F32] * 4)
    text = f"{line} {{$0, $1, $2, $3}}, [$4];"
    return code.parts(code.statement(text, f"=f,=f,=f,=f,{kind}", [address], result))


def _emit_shared_loads(code: "CudaCode", tile: Any, thread: "Value", rounds: "Value") -> "Value":
    base = code.shared(tile) + narrow(thread) * 4
    rows = [
        code.value(code.builder.ptrtoint((base + 4 * THREADS * row).llvm, I32)) for row in range(SHARED_ROWS)
    ]

    def step(sums: "list[Value]") -> "list[Value]":
        for number in range(_LOADS):
            loaded = _loaded(code, "ld.volatile.shared.v4.f32", "r", rows[number % SHARED_ROWS])
            sums = [total + one for total, one in zip(sums, loaded, strict=True)]
        return sums

    return in_pairs(_rounds(code, [code.f32(0.0)] * 4, rounds, step), lambda a, b: a + b)


def _emit_l2_loads(
    code: "CudaCode", buffer: Any, start: "Value", stride: "Value", floats: "Value", rounds: "Value"
) -> "Value":
    pointer = code.pointer(buffer)

    def step(values: Any) -> object:
        sums, at = values
        rows = []
        for _ in range(_LOADS):
            # Past L1, which would serve a part of them.
            rows.append(_loaded(code, "ld.global.cg.v4.f32", "l", pointer + at))
            after = at + stride
            at = code.select(after < floats, after, after - floats)
        for row in rows:
            sums = [total + one for total, one in zip(sums, row, strict=True)]
        return [sums, at]

    start, stride, floats = narrow(start), narrow(stride), narrow(floats)
    sums, _ = _rounds(code, [[code.f32(0.0)] * 4, start], rounds, step)
    return in_pairs(sums, lambda a, b: a + b)


def _emit_tensor(code: "CudaCode", x: "Value", y: "Value", n: "Value", rounds: "Value") -> "Value":
    samples, weights = [n + word for word in range(4)], [n + word for word in range(2)]

    def step(chains: "list[list[Value]]") -> "list[list[Value]]":
        for _ in range(_TENSOR_STEPS):
            chains = [
                code.multiplied("m16n8k32.row.col.s32.s8.s8.s32", samples, weights, sums) for sums in chains
            ]
        return chains

    # Chains that began alike would be one.
    chains = _rounds(code, [[code.integer(number)] * 4 for number in range(_TENSOR_CHAINS)], rounds, step)
    return code.float32(in_pairs([one for sums in chains for one in sums], lambda a, b: a + b))


@kernel_factory
def arithmetic_kernel(name: str):
    """Return the kernel of arithmetic in registers of that name; each thread stores one number."""
    works = {MULTIPLY_ADDS: _emit_multiply_adds, MIXED: _emit_mixed, INT8_TENSOR: _emit_tensor}
    work = device_function(types.float32, {one.name: emit for one, emit in works.items()}[name])

    @cuda.jit
    def arithmetic(x, y, n, rounds, out):
        # Integers that are the same in all threads of a warp would be computed once, by another unit.
        out[cuda.grid(1)] = work(x, y, int32(n + cuda.threadIdx.x), rounds)

    return arithmetic


@kernel_factory
def shared_kernel():
    """Return the kernel that reads shared memory, 16 bytes a thread, side by side."""
    work = device_function(types.float32, _emit_shared_loads)
    FLOATS = 4 * THREADS * SHARED_ROWS

    @cuda.jit
    def read_shared(rounds, out):
        tile = cuda.shared.array(FLOATS, float32, alignment=16)
        thread = cuda.threadIdx.x
        for at in range(thread, FLOATS, THREADS):
            tile[at] = float32(1.0)
        cuda.syncthreads()
        out[cuda.grid(1)] = work(tile, thread, rounds)

    return read_shared


@kernel_factory
def l2_kernel():
    """Return the kernel that reads a buffer again and again, all threads side by side."""
    work = device_function(types.float32, _emit_l2_loads)

    @cuda.jit
    def read_l2(buffer, rounds, out):
        floats, thread = buffer.size, cuda.grid(1)
        start, stride = thread * 4 % floats, cuda.gridsize(1) * 4 % floats
        out[thread] = work(buffer, int32(start), int32(stride), int32(floats), rounds)

    return read_l2


@kernel_factory
def idle_kernel():
    """Return the kernel whose blocks do nothing: what remains is to start them."""

    @cuda.jit
    def do_nothing(blocks, out):
        if cuda.blockIdx.x >= blocks:
            out[0] = float32(0.0)

    return do_nothing


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


def gpu_limits(machine: Backend, report: Checkpoint = lambda progress: None) -> DeviceLimits:
    """Measure all limits of a GPU; `report` is called before each."""
    return measured_well(lambda: _measured(machine, report))


def _measured(machine: Backend, report: Checkpoint) -> DeviceLimits:
    attributes = machine.info.attributes
    assert attributes is not None
    sizes = {f"copies of {size >> 20} MiB": size for size in (*SIZES, COPIED_BYTES)}
    found: dict[str, float] = {}
    with machine.selected():
        steps = _steps(machine, attributes)
        steps |= {name: partial(_copy_rate, machine, size) for name, size in sizes.items()}
        steps[next(reversed(sizes))] = partial(copy_bytes_per_s, machine)
        for number, (name, measure) in enumerate(steps.items()):
            report(Progress(f"measuring {limit_name(name)}", number / len(steps), 1.0))
            found[name] = measure()
    copies = {2 * size: found.pop(name) for name, size in sizes.items()}
    # Of copies of more than four times what L2 holds.
    found["copy_bytes_per_s"] = max(rate for size, rate in copies.items() if size > 4 * attributes.l2_bytes)
    # A kernel may do with the largest what it does with smaller ones.
    copies[2 * COPIED_BYTES] = found["copy_bytes_per_s"]
    # Where multiply-adds have lanes enough they are issued as fast as anything.
    found["instructions_per_s"] = max(found["instructions_per_s"], found["multiply_adds_per_s"] / WARP)
    stated = theoretical_limits(machine.info)
    rates: dict[str, Any] = {name: Limit(value, stated.get(name)) for name, value in found.items()}
    return DeviceLimits(machine.info.title, **rates).with_copies(copies)


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
    ends = address_of(target), address_of(source)
    copy = _Enqueued(lambda stream: check(driver.cuMemcpyDtoDAsync(*ends, size, stream)))
    return 2 * size / _least_s(machine, copy, source, target)


def _steps(machine: Backend, attributes: GpuAttributes) -> dict[str, Callable[[], float]]:
    """Return the limits that a device has, each with what measures it; copies are measured apart."""
    blocks = attributes.multiprocessors * _BLOCKS
    out = device_array((blocks * THREADS,), np.float32)

    def launch_s(
        kernel: Kernel, signature: Signature, arguments: tuple[object, ...], over: int, threads: int
    ) -> float:
        bound = loaded_kernel(kernel, signature).bound((over, 1, 1), (threads, 1, 1), (*arguments, out))
        return _least_s(machine, _Enqueued(lambda stream: bound.enqueue(stream, ())), out, out)

    def rate(kernel: Kernel, signature: Signature, work: RoundWork, *first: object) -> float:
        least_s = launch_s(kernel, signature, (*first, work.rounds), blocks, THREADS)
        return blocks * THREADS * work.rounds * work.units / least_s

    def arithmetic(work: RoundWork) -> float:
        return rate(arithmetic_kernel(work.name), _VALUES, work, 0.5, 0.5, 3)

    def l2() -> float:
        # Half of it: the other half is left for what else is there.
        size = max(1, attributes.l2_bytes // 2 // VECTOR_BYTES) * VECTOR_BYTES
        buffer = device_array((size // 4,), np.float32)
        fill_bytes(buffer, 0)
        return rate(l2_kernel(), (float32[::1], int32, float32[::1]), L2_LOADS, buffer)

    def started(count: int) -> float:
        return count / launch_s(idle_kernel(), (int32, float32[::1]), (count,), count, WARP)

    steps = {
        "multiply_adds_per_s": lambda: arithmetic(MULTIPLY_ADDS),
        "l2_bytes_per_s": l2,
        "shared_bytes_per_s": lambda: rate(shared_kernel(), (int32, float32[::1]), SHARED_LOADS),
        "instructions_per_s": lambda: arithmetic(MIXED) / WARP,
        "blocks_per_s": lambda: started(_STARTED),
        "launches_per_s": lambda: started(1),
    }
    if (machine.info.limits.compute_capability or (0, 0)) >= _TENSOR_CAPABILITY:
        steps["int8_tensor_multiply_adds_per_s"] = lambda: arithmetic(INT8_TENSOR)
    return steps


class _Enqueued(NamedTuple):
    enqueue: Callable[[int], object]

    def launch(self, image: DeviceArray, out: DeviceArray, stream: Stream = None) -> None:
        """Enqueue it."""
        self.enqueue(int(stream.handle))


def _least_s(machine: Backend, prepared: Prepared, image: DeviceArray, out: DeviceArray) -> float:
    clock = machine.clock(prepared, Buffers(image, out, np.empty(0, np.float32)))
    begin, passed_s, samples = time.perf_counter(), 0.0, list[float]()
    while passed_s < _SAMPLING_S or (len(samples) < _SAMPLES and passed_s < _MOST_S):
        samples.append(clock.sample_ms())
        passed_s = time.perf_counter() - begin
    return min(samples) / 1e3
