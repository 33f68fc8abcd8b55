"""What each instruction computes from values alone: no memory, no other thread, no jump.

An instruction's name finds a function in `RULES`, which reads its modifiers and returns a `Rule`.
Source: PTX ISA 9.0, chapter 9.7.
"""

from collections.abc import Callable

import numpy as np

from engine.ptx import comparisons, conversions, floats, integers
from engine.ptx.floats import F16, F32, F64
from engine.ptx.module import Instruction
from engine.ptx.spelling import DIRECTIONS, U32, Compute, Rule, Spelling, same, unknown, with_flags
from engine.ptx.types import Values, as_type


def rule_of(instruction: Instruction) -> Rule | None:
    """Return what an instruction computes; None where that is more than values."""
    make = RULES.get(instruction.name)
    if make is None:
        return None
    said = Spelling(instruction)
    return said.done(make(said))


def _arithmetic(plain: Compute, operation: str, count: int = 2) -> Callable[[Spelling], Rule]:
    def make(said: Spelling) -> Rule:
        is_pair = said.rest[-1:] == ["f16x2"]
        dtype = said.dtype()
        compute = plain
        if operation == "fma":
            compute = {F32: floats.fma32, F64: floats.fma64, F16: floats.fma16}.get(dtype, plain)
            if is_pair:
                compute = floats.fma16
        direction = said.one_of(*DIRECTIONS)
        if direction not in ("", "rn"):
            if dtype != F32:
                raise unknown(said.instruction)
            compute = floats.directed(operation, direction, dtype)
        if dtype.kind in "iu" and said.has("sat"):
            compute = _saturating(operation, dtype)
        if is_pair:
            return same(count, U32, _by_halves(compute))
        return same(count, dtype, with_flags(said, dtype, compute))

    return make


def _by_halves(compute: Compute) -> Compute:
    """Return a computation of float16 on both halves of 32-bit registers."""

    def both(*operands: Values) -> Values:
        halves = [
            [as_type(one >> np.uint32(shift), np.dtype(np.uint16)).view(F16) for one in operands]
            for shift in (0, 16)
        ]
        low, high = (conversions.half_bits(compute(*half).astype(F16)) for half in halves)
        return low | (high << np.uint32(16))

    return both


def _saturating(operation: str, dtype: np.dtype) -> Compute:
    info, choose = np.iinfo(dtype), {"add": np.add, "sub": np.subtract}
    return lambda a, b: np.clip(choose[operation](a.astype(np.int64), b), info.min, info.max).astype(dtype)


def _divide(said: Spelling) -> Rule:
    dtype = said.dtype()
    if dtype.kind in "iu":
        return same(2, dtype, integers.quotient)
    # `.approx` and `.full` are within 2 units in the last place: rounded once is.
    direction = said.one_of(*DIRECTIONS, "approx", "full")
    compute: Compute = np.divide
    if direction in ("rz", "rm", "rp"):
        compute = floats.directed("div", direction, dtype)
    elif direction == "approx":
        # It multiplies by the reciprocal, which vanishes there.
        compute = lambda a, b: np.where(np.abs(b) > 2.0**126, a * np.copysign(b.dtype.type(0), b), a / b)[()]  # noqa: E731
    return same(2, dtype, with_flags(said, dtype, compute))


def _product(said: Spelling) -> Rule:
    multiply = integers.multiply(said)
    return multiply if multiply is not None else _arithmetic(np.multiply, "mul")(said)


def _multiply_add(said: Spelling) -> Rule:
    multiply = integers.multiply(said)
    if multiply is None:
        # Of float32 `mad` is `fma`.
        return _arithmetic(np.multiply, "fma", 3)(said)
    result, sources, product = multiply
    return Rule(result, (*sources, result), lambda a, b, c: product(a, b) + c)


def _negate(said: Spelling) -> Rule:
    dtype = said.dtype()
    if dtype.kind != "f":
        return same(1, dtype, np.negative)
    return same(1, dtype, with_flags(said, dtype, np.negative))


def _absolute(said: Spelling) -> Rule:
    dtype = said.dtype()
    return same(1, dtype, with_flags(said, dtype, np.abs))


def _copy_sign(said: Spelling) -> Rule:
    return same(2, said.dtype(), lambda a, b: np.copysign(b, a))


def _approximate(said: Spelling) -> Rule:
    name, dtype = said.instruction.name, said.dtype()
    direction = said.one_of(*DIRECTIONS, "approx")
    if name in ("sqrt", "rcp") and direction in ("rz", "rm", "rp"):
        return same(1, dtype, with_flags(said, dtype, floats.directed(name, direction, dtype)))
    exact: dict[str, Compute] = {"sqrt": np.sqrt, "rcp": lambda a: dtype.type(1) / a}
    compute = exact.get(name) or floats.approximate(floats.APPROXIMATE[name])
    return same(1, dtype, with_flags(said, dtype, compute))


def _move(said: Spelling) -> Rule:
    return same(1, said.dtype(), lambda a: a)


RULES: dict[str, Callable[[Spelling], Rule]] = {
    **integers.RULES,
    **comparisons.RULES,
    **conversions.RULES,
    "add": _arithmetic(np.add, "add"),
    "sub": _arithmetic(np.subtract, "sub"),
    "mul": _product,
    "mad": _multiply_add,
    "fma": _arithmetic(np.multiply, "fma", 3),
    "div": _divide,
    "neg": _negate,
    "abs": _absolute,
    "copysign": _copy_sign,
    "sqrt": _approximate,
    "rcp": _approximate,
    "rsqrt": _approximate,
    "sin": _approximate,
    "cos": _approximate,
    "ex2": _approximate,
    "lg2": _approximate,
    "tanh": _approximate,
    "mov": _move,
}
