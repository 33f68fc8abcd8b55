"""Copies from global to shared memory that a thread does not wait for; emitted as LLVM IR.

From compute capability 8.0 on they need no registers (`cp.async`, PTX ISA 9.7.9.25.3); older devices load and store.
`.ca`: through L1, where the rows that neighbouring tiles share are found again. Past it (`.cg`) 4096 x 4096 took 39.6
instead of 34.1 us with 3 x 3 (H200).
"""

from contextlib import nullcontext
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_ir import GLOBAL, I32, assembly, in_space, is_at_least, moved, with_twin


def copy_ahead(
    builder: ir.IRBuilder,
    target: ir.Value,
    source: ir.Value,
    floats: int,
    only_if: ir.Value | None = None,
    target_at: int = 0,
    source_at: int = 0,
) -> None:
    """Copy 1 or 4 float32 from global to shared memory, both aligned to all of them; or leave it.

    They lie `target_at` and `source_at` float32 past the pointers: told so, and with a condition that makes no branch, the
    compiler computes no pointers of their own for them.
    """
    source = in_space(builder, source, GLOBAL)
    with builder.if_else(is_at_least(builder, 80)) as (then, otherwise):
        with then:
            address = builder.ptrtoint(target, I32)
            line = f"cp.async.ca.shared.global [$0+{4 * target_at}], [$1+{4 * source_at}], {4 * floats};"
            if only_if is None:
                assembly(builder, line, "r,l,~{memory}", [address, source])
            else:
                line = "{ .reg .pred p; setp.ne.u32 p, $2, 0; @p " + line + " }"
                arguments = [address, source, builder.zext(only_if, I32)]
                assembly(builder, line, "r,l,r,~{memory}", arguments)
        with otherwise, nullcontext() if only_if is None else builder.if_then(only_if):
            kind = ir.VectorType(source.type.pointee, floats)
            source, target = moved(builder, source, source_at), moved(builder, target, target_at)
            loaded = builder.load(builder.bitcast(source, kind.as_pointer(GLOBAL)), align=4 * floats)
            builder.store(
                loaded, builder.bitcast(target, kind.as_pointer(target.type.addrspace)), align=4 * floats
            )


def close_group(builder: ir.IRBuilder) -> None:
    """Make a group of the copies since the last one."""
    with builder.if_then(is_at_least(builder, 80)):
        assembly(builder, "cp.async.commit_group;", "~{memory}", [])


def closer() -> Any:
    """Return the function `close()`: it makes a group of the copies since the last one, empty where there are none."""

    @intrinsic
    def close(typingctx):
        def codegen(context, builder, signature, arguments):
            close_group(builder)
            return context.get_dummy_value()

        return types.void(), codegen

    def twin() -> None:
        """Do nothing: in plain Python there are no groups."""

    return with_twin(close, twin)


def waiter(pending: int) -> Any:
    """Return the function `wait()`: this thread's copies have arrived but for those of the last `pending` groups."""

    @intrinsic
    def wait(typingctx):
        def codegen(context, builder, signature, arguments):
            with builder.if_then(is_at_least(builder, 80)):
                assembly(builder, f"cp.async.wait_group {pending};", "~{memory}", [])
            return context.get_dummy_value()

        return types.void(), codegen

    def twin() -> None:
        """Do nothing: copies in plain Python have always arrived."""

    return with_twin(wait, twin)
