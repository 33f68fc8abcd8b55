"""What an emitter makes CUDA code with, and how a kernel calls it.

`CudaCode` has the operations of `llvm.py`, and those that only a GPU has. `docs/emission.md` shows an emitter
and what it makes.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from engine.compiled.late_names import types
from engine.device.launches import WEIGHTS
from engine.variants.emit.llvm import LlvmCode, NumbaType, Values, definition
from engine.variants.emit.value import F32, I8, I32, ArrayArgument, Value, constant

GLOBAL, SHARED, CONSTANT = 1, 3, 4
"""The address spaces of global, shared and constant memory."""


class CudaCode(LlvmCode):
    """Emits operations where a builder of Numba's CUDA target stands."""

    # Memory.

    def _in_space(self, pointer: Value, space: int) -> Value:
        """Return a pointer as one into an address space, which need not be found out at run time then."""
        kind = pointer.llvm.type
        if kind.addrspace == space:
            return pointer
        return self.value(self.builder.addrspacecast(pointer.llvm, ir.PointerType(kind.pointee, space)))

    def pointer(self, array: ArrayArgument) -> Value:
        """Return the pointer to the first element of an array in global memory."""
        return self._in_space(super().pointer(array), GLOBAL)

    def shared(self, tile: ArrayArgument) -> Value:
        """Return the pointer to the first element of an array in shared memory."""
        return self._in_space(super().pointer(tile), SHARED)

    def weights(self, count: int) -> Value:
        """Return the pointer to `count` weights in constant memory: no compiling when they change.

        Numba's own constant arrays are part of the compiled code. This one has a name instead, and is
        written when a launch is prepared (`Pass.constant`, `engine/device/cuda_kernels.py`). A warp reads
        a weight from it into a uniform register; with weights from shared memory in ordinary registers 15
        x 15 takes 181 instead of 142 us (H200), because one instruction reads at most two of those from one
        bank.
        """
        module = self.builder.module
        found = module.globals.get(WEIGHTS)
        if found is None:
            found = ir.GlobalVariable(module, ir.ArrayType(F32, count), WEIGHTS, addrspace=CONSTANT)
            # Two or four weights at once need it.
            found.align = 16
        return self.value(self.builder.gep(found, [constant(0), constant(0)]))

    def copy_ahead(
        self,
        target: Value,
        source: Value,
        count: int,
        only_if: Value | None = None,
        target_at: int = 0,
        source_at: int = 0,
    ) -> None:
        """Copy 4 or 16 aligned bytes from global to shared memory without waiting; or leave it.

        From compute capability 8.0 on that needs no registers (`cp.async`, PTX ISA 9.7.9.25.3); older devices
        load and store. `.ca`: through L1, where the rows that neighbouring tiles share are found again. Past
        it (`.cg`) 4096 x 4096 took 39.6 instead of 34.1 us with 3 x 3 (H200). The elements lie `target_at`
        and `source_at` past the pointers: with these, and a condition that makes no branch, the compiler
        computes no pointers of their own for them.
        """
        itemsize = 4 if target.llvm.type.pointee == F32 else 1
        floats, target_at, source_at = (one * itemsize // 4 for one in (count, target_at, source_at))
        if itemsize == 1:
            target, source = target.pointing_to(F32), source.pointing_to(F32)
        source = self._in_space(source, GLOBAL)

        def asynchronously() -> None:
            address = self.value(self.builder.ptrtoint(target.llvm, I32))
            line = f"cp.async.ca.shared.global [$0+{4 * target_at}], [$1+{4 * source_at}], {4 * floats};"
            if only_if is None:
                self.statement(line, "r,l,~{memory}", [address, source])
                return
            line = "{ .reg .pred p; setp.ne.u32 p, $2, 0; @p " + line + " }"
            self.statement(line, "r,l,r,~{memory}", [address, source, only_if.zext(I32)])

        def at_once() -> None:
            for _ in self.where(only_if):
                (target + target_at).store((source + source_at).load(floats))

        self.when(self._is_at_least(80), asynchronously, at_once)

    def close_group(self) -> None:
        """Make a group of the copies since the last one."""
        for _ in self.where(self._is_at_least(80)):
            self.statement("cp.async.commit_group;", "~{memory}", [])

    def wait_for_groups(self, pending: int) -> None:
        """Wait for this thread's copies but for those of the last `pending` groups."""
        for _ in self.where(self._is_at_least(80)):
            self.statement(f"cp.async.wait_group {pending};", "~{memory}", [])

    # Numbers.

    def quantised(self, value: Value, bits: int) -> Value:
        """Return a float32 as an unsigned integer, in one instruction (`cvt.rni.sat`, PTX ISA 9.7.9)."""
        return self.assembly(f"cvt.rni.sat.u{bits}.f32 $0, $1;", "=r,f", [value], I32).trunc(ir.IntType(bits))

    def packed_word(self, values: list[Value]) -> Value:
        """Return four float32 as the bytes of a word.

        `cvt.rni` saturates to 32 bits and makes NaN 0, `cvt.pack.sat` (PTX ISA 9.7.9.22) saturates two of
        those to bytes beside two that are there; the compiler makes one instruction of two roundings and a
        packing (`F2IP`), where four `cvt.rni.sat.u8` and their packing take seven (5 x 5 grey: 27.2 instead
        of 27.9 us, H200).
        """
        line = (
            "{ .reg .s32 a, b, c, d, e; "
            "cvt.rni.s32.f32 a, $1; cvt.rni.s32.f32 b, $2; cvt.rni.s32.f32 c, $3; cvt.rni.s32.f32 d, $4; "
            "cvt.pack.sat.u8.s32.b32 e, d, c, 0; cvt.pack.sat.u8.s32.b32 $0, b, a, e; }"
        )
        return self.assembly(line, "=r,f,f,f,f", values, I32)

    # What the lanes of a warp do together: all of them have to be there.

    def multiplied(self, kind: str, samples: Values, weights: Values, sums: Values) -> Values:
        """Return a lane's 4 sums of samples times weights on tensor cores, added to `sums` (capability 8.0).

        `kind` is what comes after `mma.sync.aligned.` (PTX ISA 9.7.14.5), and says how many words a lane has
        of samples and of weights.
        """
        arguments, number = [*samples, *weights, *sums], "f" if sums[0].is_float else "r"
        numbers = iter(range(len(sums) + len(arguments)))
        lists = (", ".join(f"${next(numbers)}" for _ in values) for values in (sums, samples, weights, sums))
        line = f"mma.sync.aligned.{kind} {', '.join(f'{{{listed}}}' for listed in lists)};"
        words = ["r"] * (len(samples) + len(weights))
        kinds = ",".join([f"={number}"] * len(sums) + words + [number] * len(sums))
        result = ir.LiteralStructType([value.llvm.type for value in sums])
        return self.parts(self.assembly(line, kinds, arguments, result))

    def _is_at_least(self, capability: int) -> Value:
        """Return whether the code is for this compute capability (80: 8.0); known to the compiler."""
        builder, module, name = self.builder, self.builder.module, "cuda_arch"
        text = module.globals.get(name)
        if text is None:
            letters = bytearray(b"__CUDA_ARCH\0")
            kind = ir.ArrayType(I8, len(letters))
            text = ir.GlobalVariable(module, kind, name, addrspace=CONSTANT)
            text.initializer = ir.Constant(kind, letters)
            text.global_constant = True
            text.linkage = "internal"
        pointer = builder.addrspacecast(builder.gep(text, [constant(0), constant(0)]), I8.as_pointer())
        asked = ir.FunctionType(I32, [I8.as_pointer()])
        reflect = module.globals.get("__nvvm_reflect") or ir.Function(module, asked, "__nvvm_reflect")
        return self.value(builder.call(reflect, [pointer])) >= capability * 10


SHARED_ALIGNMENT = 16
"""Bytes that arrays in shared memory are aligned to, for copies of 16."""


DeviceFunction = Callable[..., Any]
"""What kernels call for what an emitter makes, which it has as `emit`."""


def device_function(returns: NumbaType, emit: Callable[..., object]) -> DeviceFunction:
    """Return the function that a kernel calls for what an emitter makes of `CudaCode` and the arguments.

    These are values, lists of them for tuples, and arrays. It `returns` void, a number, or tuples of them.
    """
    # The first loads Numba.
    from engine.device.numba_cuda import intrinsic

    function: Any = intrinsic(definition(returns, emit, CudaCode))
    function.emit = emit
    return function


def waiter(pending: int) -> DeviceFunction:
    """Return the function `wait()`: this thread's copies have arrived, but for `pending` groups."""
    return device_function(types.void, lambda code: code.wait_for_groups(pending))


def constant_weights(count: int) -> DeviceFunction:
    """Return the function `in_constant_memory(weights)`: `count` float32 in constant memory, row by row.

    The array has a fixed size, `__constant__` in CUDA C. Its module defines it, and before the kernel is
    first launched with a mask, the host finds it by its name (`cuModuleGetGlobal`) and copies the weights
    there, as CUDA C's `cudaMemcpyToSymbol` does (`engine/device/cuda_kernels.py`, decision 5). So an edit
    of the mask compiles nothing. Each prepared variant has a copy of the module, with an array of its own:
    launches with two masks may overlap on any streams. Of the weights that the kernel is given as an argument
    only the shape is read. A kernel that calls it is decorated with `jit_with_constant(WEIGHTS, count)`.
    """
    kind = types.Array(types.float32, 1, "C")

    def in_constant_memory(code, weights):
        context, array = code.context, code.context.make_array(kind)(code.context, code.builder)
        # Numba's arrays have generic pointers; the compiler finds where this one comes from.
        data = code.builder.addrspacecast(code.weights(count).llvm, array.data.type)
        shape, strides = ([context.get_constant(types.intp, one)] for one in (count, 4))
        context.populate_array(array, data=data, shape=shape, strides=strides, itemsize=4, meminfo=None)
        return code.value(array._getvalue())

    return device_function(kind, in_constant_memory)
