"""float32 results as samples of 8 or 16 bit: rounded half to even, saturated, NaN becomes 0; emitted as LLVM IR."""

import math
from typing import Any

from llvmlite import ir
from numba import types

from engine.variants.ir.cuda_ir import I8, I32, assembly, constant

WORD = 4
"""Samples of 8 bit in a word."""


def quantised_value(builder: ir.IRBuilder, value: ir.Value, itemsize: int) -> ir.Value:
    """Return a float32 as an unsigned integer of `itemsize` bytes, in one instruction (`cvt.rni.sat`, PTX ISA 9.7.9)."""
    bits = 8 * itemsize
    number = assembly(builder, f"cvt.rni.sat.u{bits}.f32 $0, $1;", "=r,f", [value], I32, changes_memory=False)
    return builder.trunc(number, ir.IntType(bits))


def packed_word(builder: ir.IRBuilder, values: list[ir.Value]) -> ir.Value:
    """Return four float32 as the bytes of a word.

    `cvt.rni` saturates to 32 bits and makes NaN 0, `cvt.pack.sat` (PTX ISA 9.7.9.22) saturates two of those to bytes beside
    two that are there; the compiler makes one instruction of two roundings and a packing (`F2IP`), where four
    `cvt.rni.sat.u8` and their packing take seven (5 x 5 grey: 27.2 instead of 27.9 us, H200).
    """
    line = (
        "{ .reg .s32 a, b, c, d, e; "
        "cvt.rni.s32.f32 a, $1; cvt.rni.s32.f32 b, $2; cvt.rni.s32.f32 c, $3; cvt.rni.s32.f32 d, $4; "
        "cvt.pack.sat.u8.s32.b32 e, d, c, 0; cvt.pack.sat.u8.s32.b32 $0, b, a, e; }"
    )
    return assembly(builder, line, "=r,f,f,f,f", values, I32, changes_memory=False)


class StoredSamples:
    """Results of a thread as they are stored: float32, integers of 16 bit, or words of four samples of 8 bit.

    Parameters
    ----------
    builder : IRBuilder
    values : list of float32 values
        Whole fours.
    itemsize : int
        Bytes of a sample of the result: 4 is float32, fewer are unsigned integers.
    """

    def __init__(self, builder: ir.IRBuilder, values: list[ir.Value], itemsize: int) -> None:
        self._builder, self._itemsize = builder, itemsize
        self._units, self._in_unit = values, 1
        if itemsize == 1:
            fours = (values[first : first + WORD] for first in range(0, len(values), WORD))
            self._units, self._in_unit = [packed_word(builder, four) for four in fours], WORD
        elif itemsize < 4:
            self._units = [quantised_value(builder, value, itemsize) for value in values]

    def store(self, pointer: ir.Value, first: int, count: int) -> None:
        """Store some neighbours, whole fours, at once where a pointer says, aligned to all of them."""
        builder = self._builder
        units = self._units[first // self._in_unit : (first + count) // self._in_unit]
        vector = ir.Constant(ir.VectorType(units[0].type, len(units)), ir.Undefined)
        for k, unit in enumerate(units):
            vector = builder.insert_element(vector, unit, constant(k))
        target = builder.bitcast(pointer, vector.type.as_pointer(pointer.type.addrspace))
        builder.store(vector, target, align=count * self._itemsize)

    def store_one(self, pointer: ir.Value, place: int) -> None:
        """Store one of them where a pointer says."""
        builder, unit = self._builder, self._units[place // self._in_unit]
        if self._itemsize == 1:
            unit = builder.trunc(builder.lshr(unit, constant(8 * (place % WORD))), I8)
        builder.store(unit, pointer)


class StoredWords(StoredSamples):
    """The same where the results are words of four samples of 8 bit already.

    Parameters
    ----------
    builder : IRBuilder
    words : list of int32 values
    """

    def __init__(self, builder: ir.IRBuilder, words: list[ir.Value]) -> None:
        self._builder, self._itemsize = builder, 1
        self._units, self._in_unit = words, WORD


def quantised_twin(value: Any, itemsize: int) -> Any:
    """Return what the emitted code makes of a float32, in plain Python; a float32 stays what it is."""
    if itemsize == 4:
        return types.float32(value)
    number = float(value)
    most = (1 << 8 * itemsize) - 1
    if math.isnan(number):
        return 0
    # Python's round is half to even.
    return round(min(max(number, 0.0), float(most)))
