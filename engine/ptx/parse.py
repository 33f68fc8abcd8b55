"""Text of PTX to a `Module`: PTX 6 to 9 as NVVM and NVRTC write it, inline assembly included.

Source: PTX ISA 9.0, chapters 4 (syntax) and 11 (directives).
"""

import re
from dataclasses import replace

from engine.ptx.module import (
    NOWHERE,
    Function,
    Guard,
    Instruction,
    Module,
    PtxError,
    SourceLine,
    Variable,
    number,
)
from engine.ptx.types import DTYPES

_LOC = re.compile(
    r"\.loc\s+(\d+\s+(\d+)\s+\d+)(?:\s*,\s*function_name\s+\S+\s*,\s*inlined_at\s+(\d+\s+(\d+)\s+\d+))?"
)
_LOC_WORD = ".loc ", ".loc\t"
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_LABEL = re.compile(r"([$\w]+)\s*:(?!:)\s*")
_GUARD = re.compile(r"@(!?)\s*([%$\w]+)\s+")
_STATEMENT = re.compile(r"([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_OPERAND = re.compile(r"(?:[^,\[{(]|\[[^\]]*\]|\{[^}]*\}|\([^)]*\))+")
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)", re.DOTALL)
_VARIABLE = re.compile(
    r"(?:\.(?:visible|extern|weak|common)\s+)*\.(shared|const|global|local|param)\s*(?:\.align\s+(\d+))?"
    r"\s*(?:\.align\s+(\d+))?\s*(?:\.v([24]))?\s*\.(\w+)\s*(?:\.ptr[^\w$%]*(?:\.\w+\s*(?:\.align\s+\d+)?\s*)*)?"
    r"\s*([%$\w]+)\s*((?:\[\d*\])*)\s*(?:=\s*(.*))?",
    re.DOTALL,
)
_FUNCTION = re.compile(
    r"(?:\.(?:visible|extern|weak|common)\s+)*\.(entry|func)\s*(?:\(([^)]*)\))?\s*([$%\w]+)\s*(?:\((.*)\))?(.*)",
    re.DOTALL,
)
_TARGETS = re.compile(r"\.branchtargets\s+(.*)", re.DOTALL)
_IGNORED = (".pragma", ".maxn", ".minn", ".reqntid", ".alias", ".callprototype", ".attribute")


def parsed(text: str) -> Module:
    """Return a module of PTX; raises PtxError for what is no PTX or of a version that is not known."""
    return _Parser().module(text)


class _Parser:
    """Reads one statement after another; remembers the line of the source and the scopes of braces."""

    def __init__(self) -> None:
        self._module = Module()
        self._files: dict[int, str] = {}
        self._line = NOWHERE
        self._places: dict[str, SourceLine] = {}  # by file, line and column
        self._function: Function | None = None
        # The names that each pair of braces within the function has of its own.
        self._scopes: list[dict[str, str]] = []
        self._opened = 0

    def module(self, text: str) -> Module:
        """Return the module of a text."""
        text = text.rstrip("\0")
        if "/*" in text:
            text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
        # NVVM names the files behind the code.
        self._files = {int(found[1]): found[2] for found in _FILE.finditer(text)}
        gathered = ""
        lines = iter(text.splitlines())
        for raw in lines:
            line = raw.partition("//")[0].strip()
            if not line:
                continue
            if line.startswith(_LOC_WORD):
                self._locate(line)
            elif line.startswith((".file", ".address_size")):
                continue
            elif line.startswith(".section"):
                while "}" not in line:
                    line = next(lines, "}")
            elif line.startswith((".version", ".target")):
                self._declare(line)
            elif line.endswith(";") and not gathered and line.count(";") == 1 and line[0] not in "{}":
                self._statement(line[:-1])
            else:
                gathered = self._pieces(f"{gathered} {line}" if gathered else line)
        if gathered.strip() or self._function is not None:
            raise PtxError("the text of PTX", "it ends within a statement")
        if not self._module.target:
            raise PtxError("the text of PTX", "it has no .version and .target")
        return self._module

    def _pieces(self, text: str) -> str:
        """Do the whole statements of a text; return the rest."""
        while text := text.lstrip():
            if text[0] == "{":
                self._opened += 1
                self._scopes.append({})
                text = text[1:]
            elif text[0] == "}":
                if self._scopes:
                    self._scopes.pop()
                    if not self._scopes:
                        self._function = None
                text = text[1:]
            elif self._function is None and (found := re.search(r"[;{]", text)) and _is_function(text):
                if found[0] == "{":
                    self._begin(text[: found.start()])
                text = text[found.end() :] if found[0] == ";" else text[found.start() :]
                if found[0] == "{":
                    self._scopes, text = [{}], text[1:]
            elif (end := text.find(";")) >= 0:
                self._statement(text[:end])
                text = text[end + 1 :]
            elif found := _LABEL.fullmatch(text):
                self._label(found[1])
                text = ""
            else:
                return text
        return ""

    def _locate(self, line: str) -> None:
        # Line 0: the compiler knows none.
        if (found := _LOC.match(line)) is None or found[2] == "0":
            return
        own, outer = found[1], None
        if found[3] is not None and found[4] != "0":
            # The place of a call that was itself inlined was named before.
            outer = self._places.get(found[3]) or SourceLine(self._file_of(found[3]), int(found[4]))
        self._line = self._places[own] = SourceLine(self._file_of(own), int(found[2]), outer)

    def _file_of(self, place: str) -> str:
        return self._files.get(int(place.split()[0]), "")

    def _declare(self, line: str) -> None:
        word, value = line.split(None, 1)
        if word == ".target":
            self._module.target = value.split(",")[0].strip()
            return
        major, _, minor = value.partition(".")
        self._module.version = int(major), int(minor)
        if not (6, 0) <= self._module.version < (10, 0):
            raise PtxError("the text of PTX", f"it is of version {value}; 6.0 to 9.x are known")

    def _begin(self, head: str) -> None:
        if (found := _FUNCTION.match(head)) is None:
            raise PtxError("the text of PTX", f"this is no function: {head[:80]}")
        function = Function(found[3], found[1] == "entry")
        function.parameters, function.results = (
            [_variable(one) for one in filter(str.strip, (text or "").split(","))]
            for text in (found[4], found[2])
        )
        self._function, self._line, self._scopes = function, NOWHERE, []
        self._module.functions[function.name] = function

    def _statement(self, text: str) -> None:
        text = text.strip()
        function = self._function
        if not text:
            return
        if function is None:
            if not text.startswith(_IGNORED) and not _is_function(text):
                variable = _variable(text)
                self._module.variables.setdefault(variable.name, variable)
            return
        while found := _LABEL.match(text):
            self._label(found[1])
            text = text[found.end() :]
            if targets := _TARGETS.match(text):
                names = tuple(map(self._named, re.findall(r"[$\w]+", targets[1])))
                function.targets[self._named(found[1])] = names
                return
        if not text:
            return
        if text[0] == ".":
            self._local_declaration(text)
            return
        guard = None
        if found := _GUARD.match(text):
            guard = Guard(self._named(found[2]), bool(found[1]))
            text = text[found.end() :]
        if (found := _STATEMENT.fullmatch(text)) is None:
            raise PtxError("the text of PTX", f"this is no instruction: {text[:80]}")
        name, *modifiers = found[1].replace("::", "~").split(".")
        rest = found[2].strip()
        operands = tuple(one.strip() for one in _OPERAND.findall(rest)) if rest else ()
        if len(self._scopes) > 1:
            operands = tuple(re.sub(r"[%$\w]+", lambda one: self._named(one[0]), one) for one in operands)
        function.instructions.append(
            Instruction(name, tuple(one.replace("~", "::") for one in modifiers), operands, guard, self._line)
        )

    def _local_declaration(self, text: str) -> None:
        function = self._function
        assert function is not None
        if found := _REGISTERS.match(text):
            for one in found[2].split(","):
                name, _, count = one.strip().rstrip(">").partition("<")
                if found[1] not in DTYPES:
                    raise PtxError(f"registers of type .{found[1]}", "such are not known here")
                if count:
                    function.registers |= {f"{name}{number}": found[1] for number in range(int(count))}
                else:
                    function.registers[self._own(name)] = found[1]
        elif not text.startswith(_IGNORED):
            variable = _variable(text)
            name = self._own(variable.name)
            function.variables[name] = replace(variable, name=name, extern=False)

    def _label(self, name: str) -> None:
        function = self._function
        if function is None:
            raise PtxError("the text of PTX", f"the label {name} stands outside of every function")
        function.labels[self._own(name) if len(self._scopes) > 1 else name] = len(function.instructions)

    def _own(self, name: str) -> str:
        """Return the name, unlike all others, of what inner braces declare."""
        if len(self._scopes) <= 1:
            return name
        self._scopes[-1].setdefault(name, f"{name}~{self._opened}")
        return self._scopes[-1][name]

    def _named(self, name: str) -> str:
        """Return the unlike name of what stands in braces."""
        for scope in reversed(self._scopes[1:]):
            if name in scope:
                return scope[name]
        return name


def _is_function(text: str) -> bool:
    return re.match(r"(\.(visible|extern|weak|common)\s+)*\.(entry|func)\b", text) is not None


def _variable(text: str) -> Variable:
    """Return a declared variable."""
    found = _VARIABLE.fullmatch(text.strip())
    if found is None or found[5] not in DTYPES:
        raise PtxError("the text of PTX", f"this declares no variable that is known: {text[:80]}")
    dtype = DTYPES[found[5]]
    words = re.split(r"[\s{},]+", found[8] or "")
    try:
        contents = b"".join(number(word, dtype).tobytes() for word in words if word)
    except PtxError as error:
        raise PtxError("the text of PTX", f"{found[6]} begins with what is no number: {found[8]}") from error
    itemsize = dtype.itemsize * int(found[4] or 1)
    size = itemsize
    for side in re.findall(r"\[(\d*)\]", found[7]):
        size *= int(side) if side else len(contents) // itemsize
    is_extern = ".extern" in text[: found.start(1)]
    alignment = int(found[2] or found[3] or itemsize)
    return Variable(found[6], found[1], dtype, size, alignment, contents[:size], is_extern)
