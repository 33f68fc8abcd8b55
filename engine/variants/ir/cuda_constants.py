"""The weights of a mask in constant memory that the host fills: no compiling when they change; emitted as LLVM IR.

Numba's own constant arrays are part of the compiled code. This array has a name instead, and whoever prepares a launch
writes to it (`Pass.constant`, `engine/device/constant_memory.py`). A warp reads a weight from it into a uniform
register; with weights from shared memory in ordinary registers 15 x 15 takes 181 instead of 142 us (H200), because one
instruction reads at most two of those from one bank.
"""

from llvmlite import ir

from engine.variants.ir.cuda_ir import CONSTANT, F32, constant

WEIGHTS = "haloscope_weights"
"""The array's name in the compiled module."""


def constant_weights(builder: ir.IRBuilder, count: int) -> ir.Value:
    """Return the pointer to the first of `count` float32 weights in constant memory."""
    array = builder.module.globals.get(WEIGHTS)
    if array is None:
        kind = ir.ArrayType(F32, count)
        array = ir.GlobalVariable(builder.module, kind, WEIGHTS, addrspace=CONSTANT)
        # Two or four weights at once need it.
        array.align = 16
    return builder.gep(array, [constant(0), constant(0)])
