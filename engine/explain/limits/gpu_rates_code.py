"""Kernels that do one thing as fast as a GPU can: what they do per thread is known, and nothing else counts.

The work is emitted, not left to the compiler: it has many independent chains, each round of the loop has
many instructions, and its result is stored, so that nothing is combined or left out.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.device.kernel_factory import kernel_factory

if TYPE_CHECKING:  # imported by `kernel_factory`
    from llvmlite import ir

    from engine.device.numba_cuda import cuda, float32, int32, types
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


class Work(NamedTuple):
    """What each thread does in a round of a kernel's loop."""

    name: str
    units: float
    """Multiply-adds, operations, bytes."""
    rounds: int
    """Of a launch, which take 0.5 ms on an H100, and on others about as long: each multiprocessor has as much
    work."""


_REPEATED = _CHAINS * _STEPS
MULTIPLY_ADDS = Work("multiply-adds", _REPEATED, 256)
MIXED = Work("instructions", 2 * _REPEATED, 128)
SHARED_LOADS = Work("shared loads", _LOADS * VECTOR_BYTES, 512)
L2_LOADS = Work("L2 loads", _LOADS * VECTOR_BYTES, 96)
# 16 x 8 sums of 32 products, by the 32 threads of a warp.
INT8_TENSOR = Work("int8 products", _TENSOR_CHAINS * _TENSOR_STEPS * 16 * 8 * 32 / 32, 128)


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

    return in_pairs(_rounds(code, _floats(x), rounds, step), lambda a, b: a + b)


def _emit_mixed(code: "CudaCode", x: "Value", y: "Value", n: "Value", rounds: "Value") -> "Value":
    """Emit as many multiply-adds of float32 as operations of int32, in turn: they have lanes of their own."""

    def step(values: Any) -> object:
        floats, integers = values
        for number in range(_STEPS):
            pairs = [
                (code.fma(one, x, y), other ^ word if number % 2 else other + n)
                for one, other in zip(floats, integers, strict=True)
            ]
            floats, integers = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return [floats, integers]

    word = narrow(rounds)
    floats, integers = _rounds(code, [_floats(x), _integers(n)], rounds, step)
    return in_pairs([*floats, *(code.float32(one) for one in integers)], lambda a, b: a + b)


def _floats(x: "Value") -> "list[Value]":
    return [x + float(number) for number in range(_CHAINS)]


def _integers(n: "Value") -> "list[Value]":
    return [n + number for number in range(_CHAINS)]


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
    """Emit chains of tensor-core multiplications."""
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


def _emitters() -> "Iterator[tuple[Work, Callable[..., Value]]]":
    yield MULTIPLY_ADDS, _emit_multiply_adds
    yield MIXED, _emit_mixed
    yield INT8_TENSOR, _emit_tensor


@kernel_factory
def arithmetic_kernel(name: str):
    """Return the kernel of arithmetic in registers of that name; each thread stores one number."""
    (emit,) = (emit for work, emit in _emitters() if work.name == name)
    work = device_function(types.float32, emit)

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
