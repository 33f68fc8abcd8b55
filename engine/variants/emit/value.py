"""A value of the code that is being emitted, with the operators of a number or of a pointer.

`a * b + c` on two values emits a multiplication and an addition. Integers are compared as signed ones and
divided and shifted right as unsigned ones, which is what indices need. A number of Python on the other side
becomes a constant.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, overload

from llvmlite import ir

F32, I8, I32, I64 = ir.FloatType(), ir.IntType(8), ir.IntType(32), ir.IntType(64)


def constant(value: float, kind: ir.Type = I32) -> ir.Constant:
    """Return a constant; of a vector in every element."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def bits_of(kind: ir.Type) -> int:
    """Return the width of a number or of a vector of them."""
    if isinstance(kind, ir.VectorType):
        return kind.count * bits_of(kind.element)
    return 32 if isinstance(kind, ir.FloatType) else int(kind.width)


def _operator(integer: str, of_floats: str = "", *, reflected: bool = False) -> "Operator":
    def operator(self: "Value", other: "Operand") -> "Value":
        sides = (self._same(other), self.llvm) if reflected else (self.llvm, self._same(other))
        return self._made(getattr(self.builder, of_floats if self.is_float else integer)(*sides))

    return operator


def _comparison(sign: str) -> "Operator":
    def operator(self: "Value", other: "Operand") -> "Value":
        compare = self.builder.fcmp_ordered if self.is_float else self.builder.icmp_signed
        return self._made(compare(sign, self.llvm, self._same(other)))

    return operator


class Value:
    """A number, a vector, a condition or a pointer: llvmlite's value, and the builder to go on with."""

    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("builder", "llvm")

    def __init__(self, builder: ir.IRBuilder, llvm: ir.Value) -> None:
        self.builder, self.llvm = builder, llvm

    def _made(self, llvm: ir.Value) -> "Value":
        return Value(self.builder, llvm)

    def _same(self, other: "Operand") -> ir.Value:
        return other.llvm if isinstance(other, Value) else constant(other, self.llvm.type)

    @property
    def is_float(self) -> bool:
        """Whether it is a float32 or a vector of them."""
        kind = self.llvm.type
        return isinstance(getattr(kind, "element", kind), ir.FloatType)

    __sub__, __rsub__ = _operator("sub", "fsub"), _operator("sub", "fsub", reflected=True)
    __mul__, __rmul__ = _operator("mul", "fmul"), _operator("mul", "fmul", reflected=True)
    __and__, __or__, __xor__ = _operator("and_"), _operator("or_"), _operator("xor")
    __lshift__, __rshift__, __floordiv__ = _operator("shl"), _operator("lshr"), _operator("udiv")
    __lt__, __le__, __gt__, __ge__ = (_comparison(sign) for sign in ("<", "<=", ">", ">="))
    __eq__, __ne__ = _comparison("=="), _comparison("!=")  # type: ignore[assignment]

    def __add__(self, other: "Operand") -> "Value":
        if not self.llvm.type.is_pointer:
            add = self.builder.fadd if self.is_float else self.builder.add
            return self._made(add(self.llvm, self._same(other)))
        # A pointer so many elements further on.
        index = wide(other).llvm if isinstance(other, Value) else constant(other, I64)
        return self._made(self.builder.gep(self.llvm, [index]))

    __radd__ = _operator("add", "fadd", reflected=True)

    def __divmod__(self, divisor: "Operand") -> tuple["Value", "Value"]:
        quotient = self // divisor
        return quotient, self - quotient * divisor

    @overload
    def load(self) -> "Value": ...
    @overload
    def load(self, count: int) -> list["Value"]: ...
    def load(self, count: int | None = None) -> "Value | list[Value]":
        """Load the element at a pointer, or a list of `count` neighbours at once, aligned to all of them."""
        if count is None:
            return self._made(self.builder.load(self.llvm))
        kind = ir.VectorType(self.llvm.type.pointee, count)
        loaded = self.builder.load(self._as_pointer_to(kind), align=bits_of(kind) // 8)
        return [self._made(self.builder.extract_element(loaded, constant(k))) for k in range(count)]

    def store(self, values: "Value | Sequence[Value]") -> None:
        """Store a value at a pointer, or a list of neighbours at once, aligned to all of them."""
        if isinstance(values, Value):
            self.builder.store(values.llvm, self.llvm)
            return
        kind = ir.VectorType(values[0].llvm.type, len(values))
        vector = ir.Constant(kind, ir.Undefined)
        for k, value in enumerate(values):
            vector = self.builder.insert_element(vector, value.llvm, constant(k))
        self.builder.store(vector, self._as_pointer_to(kind), align=bits_of(kind) // 8)

    def pointing_to(self, kind: ir.Type) -> "Value":
        """Return a pointer as one to elements of another type."""
        return self._made(self._as_pointer_to(kind))

    def _as_pointer_to(self, kind: ir.Type) -> ir.Value:
        return self.builder.bitcast(self.llvm, kind.as_pointer(self.llvm.type.addrspace))

    def bits_as(self, kind: ir.Type) -> "Value":
        """Return the same bits as another type."""
        return self._made(self.builder.bitcast(self.llvm, kind))

    def trunc(self, kind: ir.IntType) -> "Value":
        """Return the low bits."""
        return self._made(self.builder.trunc(self.llvm, kind))

    def zext(self, kind: ir.IntType = I64) -> "Value":
        """Return a number that is not negative in more bits."""
        return self._made(self.builder.zext(self.llvm, kind))


Operand = Value | float
"""What an operator takes on its other side; a number of Python becomes a constant."""
Operator = Callable[[Value, Operand], Value]


class ArrayArgument(NamedTuple):
    """An array that a kernel hands over: Numba's type of it, and its value."""

    kind: Any
    value: ir.Value


def wide(value: Value) -> Value:
    """Return an index as 64 bits."""
    if value.llvm.type.width == 64:
        return value
    return Value(value.builder, value.builder.sext(value.llvm, I64))


def narrow(value: Value) -> Value:
    """Return an index as 32 bits."""
    return value.trunc(I32) if value.llvm.type.width > 32 else value


T = TypeVar("T")


def in_pairs(values: list[T], combined: Callable[[T, T], T]) -> T:
    """Return all values combined as neighbours, and then what came of them: few wait for one another."""
    while len(values) > 1:
        rest = values[len(values) // 2 * 2 :]
        values = [combined(*pair) for pair in zip(values[::2], values[1::2], strict=False)] + rest
    return values[0]
