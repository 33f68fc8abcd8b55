"""A PTX module as data: its entries, their instructions, its variables, and the lines of the source."""

from dataclasses import dataclass, field
from typing import NamedTuple


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


def listed(text: str) -> list[str]:
    """Return the names in braces or parentheses; of one name alone that."""
    return [one for one in map(str.strip, text.strip("(){} ").split(",")) if one]


class Guard(NamedTuple):
    """The predicate of an instruction: `@%p1`, or negated `@!%p1`."""

    register: str
    negated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One instruction: `ld.global.v2.f32` has the name `ld` and the modifiers `global`, `v2` and `f32`."""

    name: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: Guard | None
    line: SourceLine

    @property
    def spelling(self) -> str:
        """The whole opcode."""
        return ".".join((self.name, *self.modifiers))

    @property
    def text(self) -> str:
        """The instruction as it stands in PTX."""
        guard = "" if self.guard is None else f"@{'!' * self.guard.negated}{self.guard.register} "
        return f"{guard}{self.spelling} {', '.join(self.operands)}".strip()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in memory: its space, size and alignment in bytes, and its first contents."""

    name: str
    space: str  # "shared", "const", "global", "local" or "param"
    size: int
    alignment: int
    contents: bytes = b""
    extern: bool = False


@dataclass(slots=True, eq=False)
class Function:
    """A kernel, or a function that one calls: parameters, results, registers by type, instructions."""

    name: str
    is_entry: bool
    parameters: list[Variable] = field(default_factory=list)
    parameter_types: list[str] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)  # the number of the instruction behind each
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)  # tables of `brx.idx`


@dataclass(slots=True, eq=False)
class Module:
    """A PTX module."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)

    @property
    def entries(self) -> list[str]:
        """The names of its kernels."""
        return [name for name, function in self.functions.items() if function.is_entry]
