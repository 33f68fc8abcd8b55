"""A float32 result as a sample of 8 or 16 bit: rounded half to even, saturated, NaN becomes 0; emitted as LLVM IR."""

import math
from typing import Any

from llvmlite import ir
from numba import types

from engine.variants.emit.cuda_ir import I32, assembly


def quantised_value(builder: ir.IRBuilder, value: ir.Value, itemsize: int) -> ir.Value:
    """Return a float32 as an unsigned integer of `itemsize` bytes, in one instruction (`cvt.rni.sat`, PTX ISA 9.7.9)."""
    bits = 8 * itemsize
    number = assembly(builder, f"cvt.rni.sat.u{bits}.f32 $0, $1;", "=r,f", [value], I32, changes_memory=False)
    return builder.trunc(number, ir.IntType(bits))


def quantised_twin(value: Any, itemsize: int) -> Any:
    """Return what `quantised_value` gives, in plain Python; a float32 stays what it is."""
    if itemsize == 4:
        return types.float32(value)
    number = float(value)
    most = (1 << 8 * itemsize) - 1
    if math.isnan(number):
        return 0
    # Python's round is half to even.
    return round(min(max(number, 0.0), float(most)))
