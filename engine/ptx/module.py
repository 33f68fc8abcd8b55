"""Text of PTX to a `Module`: its functions, their statements, its variables, and the lines of the source.

PTX 6 to 9 as NVVM and NVRTC write it, inline assembly included. Source: PTX ISA 9.0, chapters 4 and 11.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from engine.errors import EngineError
from engine.ptx.arithmetic import DTYPES, UNSIGNED, Values, as_type


class InstructionSource(NamedTuple):
    """A line of the source that an instruction comes from, and where the function around it was inlined."""

    file: str
    line: int
    inlined_at: "InstructionSource | None" = None

    @property
    def own(self) -> "InstructionSource":
        """The innermost of these lines that lies in the kernel's own file: not in a header."""
        chain = [self]
        while chain[-1].inlined_at is not None:
            chain.append(chain[-1].inlined_at)
        return next(one for one in chain if one.file == chain[-1].file)


NOWHERE = InstructionSource("", 0)


class PtxError(EngineError, code="ptx", is_refusal=True):
    """PTX that cannot be read or run: what is not known is named, never guessed."""

    def __init__(self, what: str, why: str = "", remedy: str = "", line: InstructionSource = NOWHERE) -> None:
        super().__init__(what, why, remedy)
        self.line = line.own.line

    def at(self, line: InstructionSource) -> "PtxError":
        """Return it with the line of the source, where it has none yet."""
        if self.line or not line.line:
            return self
        place = f"line {line.own.line} of {line.own.file.rpartition('/')[2] or 'the source'}"
        return PtxError(f"{self.what} ({place})", self.why, self.remedy, line)


def listed(text: str) -> list[str]:
    """Return the names in braces or parentheses; of one name alone that."""
    return [one for one in map(str.strip, text.strip("(){} ").split(",")) if one]


def literal(text: str, dtype: np.dtype) -> Values:
    """Return a number, as an operand or among a variable's first contents, as a type."""
    if re.fullmatch("0[fF][0-9a-fA-F]{8}", text):
        return as_type(np.uint32(int(text[2:], 16)).view(np.float32), dtype)
    if re.fullmatch("0[dD][0-9a-fA-F]{16}", text):
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
    own = UNSIGNED[dtype.itemsize]
    return own.type(value % (1 << 8 * own.itemsize)).view(dtype)


_ADDRESS = re.compile(r"\[\s*([%$\w~.]+|\d+)\s*(?:\+\s*(-?\w+))?\s*\]")


def address_of(text: str) -> tuple[str, int]:
    """Return the register, the variable or the number in an address, `[%rd1+8]`, and what is added to it."""
    if (parts := _ADDRESS.fullmatch(text)) is None:
        raise PtxError(f"the address {text}", "the interpreter does not know it")
    return parts[1], int(parts[2] or "0", 0)


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One instruction: `ld.global.v2.f32` has the name `ld` and the modifiers `global`, `v2` and `f32`."""

    name: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str  # of a branch: its predicate, `%p1`, or negated `!%p1`
    line: InstructionSource
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

    def first_of(self, *words: str) -> str:
        """Return the first of some modifiers that it has; empty where it has none."""
        return next((word for word in words if word in self.modifiers), "")

    def unknown(self, why: str = "the interpreter does not know it") -> PtxError:
        """Return the refusal of this instruction."""
        return PtxError(f"the instruction {self.spelling}", why).at(self.line)

    @property
    def text(self) -> str:
        """The instruction as PTX has it."""
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


@dataclass(slots=True, eq=False)
class Function:
    """A kernel, or a function that one calls; names declared in braces within it end in `~` and a number."""

    is_entry: bool
    parameters: list[Variable]
    results: list[Variable]
    registers: dict[str, str] = field(default_factory=dict)  # each with its type
    variables: dict[str, Variable] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)  # and the names of tables of labels
    body: list[tuple[str, InstructionSource]] = field(default_factory=list)

    def declares(self, text: str, suffix: str, names: dict[str, str]) -> bool:
        """Note what a statement declares, with a suffix, in `names` too; return whether that is all of it."""
        if parts := _REGISTERS.match(text):
            for one in parts[2].split(","):
                name, _, count = one.strip().rstrip(">").partition("<")
                if count and not count.isdigit():
                    raise PtxError("the text of PTX", f"this declares no register that is known: {text[:80]}")
                every = [f"{name}{number}" for number in range(int(count))] if count else [name]
                names |= {name: name + suffix for name in every}
                self.registers |= {name + suffix: parts[1] for name in every}
        elif text[-1:] == ":" or TABLE.fullmatch(text):
            name = text.partition(":")[0].strip()
            names[name] = name + suffix
            self.labels.add(name + suffix)
            return False
        elif text[:1] == "." and not text.startswith(_IGNORED):
            variable = variable_of(text)
            name = names[variable.name] = variable.name + suffix
            self.variables[name] = replace(variable, name=name, extern=False)
        return text[:1] in ("", ".")


class Module(NamedTuple):
    """A PTX module: its functions and its variables, by their names."""

    functions: dict[str, Function]
    variables: dict[str, Variable]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LINKING = r"(?:\.(?:visible|extern|weak|common)\s+)*"
# What a module is made of, one piece after another. Vectors and first contents have braces of their own.
_PIECE = re.compile(
    rf"""\s*(?:
      \.loc\s+(?P<place>[^\n]*)
    | (?P<directive>\.(?:file|version|target|address_size)\b[^\n]*)
    | (?P<section>\.section\b[^{{]*\{{[^}}]*\}})
    | (?P<head>{_LINKING}\.(?:entry|func)\b[^;{{]*)
    | (?P<brace>[{{}}])
    | (?P<table>[$\w]+\s*:\s*\.branchtargets\b[^;]*);
    | (?P<label>[$\w]+\s*:(?!:))
    | (?P<statement>[^;{{}}]*(?:\{{[^{{}};]*\}}[^;{{}}]*)*);
    )""",
    re.VERBOSE,
)
_PLACE = re.compile(
    r"(\d+\s+(\d+)\s+\d+)(?:\s*,\s*function_name\s+\S+\s*,\s*inlined_at\s+(\d+\s+(\d+)\s+\d+))?"
)
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_VARIABLE = re.compile(
    rf"{_LINKING}\.(shared|const|global|local|param)\s*(?:\.align\s+(\d+))?"
    r"\s*(?:\.align\s+(\d+))?\s*(?:\.v([24]))?\s*\.(\w+)\s*(?:\.ptr[^\w$%]*(?:\.\w+\s*(?:\.align\s+\d+)?\s*)*)?"
    r"\s*([%$\w]+)\s*((?:\[\d*\])*)\s*(?:=\s*(.*))?",
    re.DOTALL,
)
_FUNCTION = re.compile(
    rf"{_LINKING}\.(entry|func)\s*(?:\(([^)]*)\))?\s*([$%\w]+)\s*(?:\((.*)\))?(.*)", re.DOTALL
)
NAME = re.compile(r"[%$\w~]+")
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)", re.DOTALL)
TABLE = re.compile(r"([$\w~]+)\s*:\s*\.branchtargets\s+(.*)", re.DOTALL)
_IGNORED = (".pragma", ".maxn", ".minn", ".reqntid", ".alias", ".callprototype", ".attribute")


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a statement with other names for some of those in it."""
    return NAME.sub(lambda one: names.get(one[0], one[0]), text) if names else text


def parsed(text: str) -> Module:
    """Return a module of PTX; raises PtxError for what is no PTX or of a version that is not known."""
    module, line, head, has_target, count = Module({}, {}), NOWHERE, "", False, 0
    function = Function(False, [], [])
    # Of each pair of braces that is open where it begins, what its names end in, and these names.
    opened: list[tuple[int, str, dict[str, str]]] = []
    # NVVM names the files behind the code.
    files = {match[1]: match[2] for match in _FILE.finditer(text)}
    places: dict[str, InstructionSource] = {}  # by file, line and column
    text, at = _COMMENT.sub(" ", text.rstrip("\0")).rstrip(), 0
    while at < len(text):
        if (match := _PIECE.match(text, at)) is None:
            raise PtxError("the text of PTX", "it ends within a statement")
        at, kind, piece = match.end(), match.lastgroup, match[match.lastgroup or 0].strip()
        if kind == "place":
            line = _located(piece, files, places) or line
        elif kind == "directive":
            word, value = piece.split(None, 1)
            has_target |= word == ".target"
            if word == ".version" and not re.match("[6-9][.]", value):
                raise PtxError("the text of PTX", f"it is of version {value}; 6.0 to 9.x are known")
        elif kind == "head":
            head = piece
        elif piece == "{":
            if not opened:
                name, function = _function_of(head)
                module.functions[name], line, head = function, NOWHERE, ""
            opened.append((len(function.body), f"~{count}" if opened else "", {}))
            count += 1
        elif piece == "}" and opened:
            first, suffix, names = opened.pop()
            if suffix:
                function.body[first:] = [(renamed(one, names), of) for one, of in function.body[first:]]
        elif opened and kind != "section":
            if not function.declares(piece, *opened[-1][1:]):
                function.body.append((piece, line))
        elif kind == "statement" and piece and not head and not piece.startswith(_IGNORED):
            variable = variable_of(piece)
            module.variables.setdefault(variable.name, variable)
        elif kind == "label":
            raise PtxError("the text of PTX", f"the label {piece[:-1]} stands outside of every function")
        elif kind == "statement":
            head = ""
    if opened or not has_target:
        why = "it ends within a statement" if opened else "it has no .version and .target"
        raise PtxError("the text of PTX", why)
    return module


def _located(
    piece: str, files: dict[str, str], places: dict[str, InstructionSource]
) -> InstructionSource | None:
    # The compiler says 0 where it knows none.
    if (match := _PLACE.match(piece)) is None or match[2] == "0":
        return None
    outer = None
    if match[3] is not None and match[4] != "0":
        # The place of a call that was itself inlined was named before.
        outer = places.get(match[3]) or InstructionSource(files.get(match[3].split()[0], ""), int(match[4]))
    places[match[1]] = InstructionSource(files.get(match[1].split()[0], ""), int(match[2]), outer)
    return places[match[1]]


def _function_of(head: str) -> tuple[str, Function]:
    if (parts := _FUNCTION.match(head)) is None:
        raise PtxError("the text of PTX", f"this is no function: {head[:80]}")
    parameters, results = (
        [variable_of(one) for one in (text or "").split(",") if one.strip()] for text in (parts[4], parts[2])
    )
    return parts[3], Function(parts[1] == "entry", parameters, results)


def variable_of(text: str) -> Variable:
    """Return a declared variable."""
    parts = _VARIABLE.fullmatch(text.strip())
    if parts is None or parts[5] not in DTYPES:
        raise PtxError("the text of PTX", f"this declares no variable that is known: {text[:80]}")
    dtype = DTYPES[parts[5]]
    words = re.split(r"[\s{},]+", parts[8] or "")
    try:
        contents = b"".join(literal(word, dtype).tobytes() for word in words if word)
    except PtxError as error:
        raise PtxError("the text of PTX", f"{parts[6]} begins with what is no number: {parts[8]}") from error
    itemsize = dtype.itemsize * int(parts[4] or 1)
    size = itemsize
    for side in re.findall(r"\[(\d*)\]", parts[7]):
        size *= int(side) if side else len(contents) // itemsize
    is_extern = ".extern" in text[: parts.start(1)]
    alignment = int(parts[2] or parts[3] or itemsize)
    return Variable(parts[6], parts[1], dtype, size, alignment, contents[:size], is_extern)
