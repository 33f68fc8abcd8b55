"""A PTX module as data: its entries, their instructions, its variables, and the lines of the source."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from engine.errors import EngineError
from engine.ptx.types import DTYPES, Values, as_type, unsigned


class SourceLine(NamedTuple):
    """A line of the source that an instruction comes from, and where the function around it was inlined."""

    file: str
    line: int
    inlined_at: "SourceLine | None" = None

    @property
    def own(self) -> "SourceLine":
        """The innermost of these lines that lies in the kernel's own file: not in a header."""
        chain = [self]
        while chain[-1].inlined_at is not None:
            chain.append(chain[-1].inlined_at)
        return next(one for one in chain if one.file == chain[-1].file)


NOWHERE = SourceLine("", 0)


class PtxError(EngineError):
    """PTX that cannot be read or run: what is not known is named, never guessed."""

    code = "ptx"
    is_refusal = True

    def __init__(self, what: str, why: str = "", remedy: str = "", line: SourceLine = NOWHERE) -> None:
        super().__init__(what, why, remedy)
        self.line = line.own.line

    def at(self, line: SourceLine) -> "PtxError":
        """Return it with the line of the source, where it has none yet."""
        if self.line or not line.line:
            return self
        place = f"line {line.own.line} of {line.own.file.rpartition('/')[2] or 'the source'}"
        return PtxError(f"{self.what} ({place})", self.why, self.remedy, line)


def listed(text: str) -> list[str]:
    """Return the names in braces or parentheses; of one name alone that."""
    return [one for one in map(str.strip, text.strip("(){} ").split(",")) if one]


def number(text: str, dtype: np.dtype) -> Values:
    """Return a number, as an operand or among a variable's first contents, as a type."""
    if text[:2] in ("0f", "0F"):
        return as_type(np.uint32(int(text[2:], 16)).view(np.float32), dtype)
    if text[:2] in ("0d", "0D"):
        double = np.uint64(int(text[2:], 16)).view(np.float64)
        return double.astype(dtype) if dtype.kind == "f" else as_type(double, dtype)
    try:
        value = int(text.rstrip("U"), 0)
    except ValueError:
        if dtype.kind == "f" and re.fullmatch(r"-?\d+\.\d*(e[+-]?\d+)?", text):
            return dtype.type(float(text))
        raise PtxError(f"the operand {text}", "the interpreter does not know it") from None
    if dtype.kind in "bf":
        return dtype.type(value)
    own = unsigned(dtype)
    return own.type(value % (1 << 8 * own.itemsize)).view(dtype)


_ADDRESS = re.compile(r"\[\s*([%$\w~@.]+|\d+)\s*(?:\+\s*(-?\w+))?\s*\]")


def address_of(text: str) -> tuple[str, int]:
    """Return the register, the variable or the number in an address, `[%rd1+8]`, and what is added to it."""
    if (found := _ADDRESS.fullmatch(text)) is None:
        raise PtxError(f"the address {text}", "the interpreter does not know it")
    return found[1], int(found[2] or "0", 0)


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One instruction: `ld.global.v2.f32` has the name `ld` and the modifiers `global`, `v2` and `f32`."""

    name: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str  # of a branch: its predicate, `%p1`, or negated `!%p1`
    line: SourceLine
    number: int = -1  # of the instructions of the kernel

    @property
    def spelling(self) -> str:
        """The whole opcode."""
        return ".".join((self.name, *self.modifiers))

    @property
    def dtype(self) -> np.dtype:
        """The type that stands last."""
        if not self.modifiers or self.modifiers[-1] not in DTYPES:
            raise self.unknown()
        return DTYPES[self.modifiers[-1]]

    @property
    def address(self) -> tuple[str, int]:
        """The name in its first address, and what is added to it."""
        return address_of(next(text for text in self.operands if text.startswith("[")))

    def first_of(self, *words: str) -> str:
        """Return the first of some modifiers that it has; empty where it has none."""
        return next((word for word in words if word in self.modifiers), "")

    def unknown(self, why: str = "the interpreter does not know it") -> PtxError:
        """Return the refusal of this instruction."""
        return PtxError(f"the instruction {self.spelling}", why).at(self.line)

    @property
    def text(self) -> str:
        """The instruction as it stands in PTX."""
        guard = f"@{self.guard} " if self.guard else ""
        return f"{guard}{self.spelling} {', '.join(self.operands)}".strip()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in memory: its space, size and alignment in bytes, and its first contents."""

    name: str
    space: str  # "shared", "const", "global", "local" or "param"
    dtype: np.dtype
    size: int
    alignment: int
    contents: bytes = b""
    extern: bool = False


class Statement(NamedTuple):
    """An instruction, a declaration, a table of labels, or a label with its colon."""

    text: str
    line: SourceLine


Body = list["Statement | Body"]
"""What stands in a pair of braces."""


@dataclass(slots=True, eq=False)
class Function:
    """A kernel, or a function that one calls."""

    name: str
    is_entry: bool
    parameters: list[Variable]
    results: list[Variable]
    body: Body


@dataclass(slots=True, eq=False)
class Module:
    """A PTX module."""

    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
