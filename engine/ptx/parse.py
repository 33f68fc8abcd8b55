"""Text of PTX to a `Module`: PTX 6 to 9 as NVVM and NVRTC write it, inline assembly included.

Source: PTX ISA 9.0, chapters 4 (syntax) and 11 (directives).
"""

import re

from engine.ptx.module import (
    NOWHERE,
    Body,
    Function,
    Module,
    PtxError,
    SourceLine,
    Statement,
    Variable,
    number,
)
from engine.ptx.types import DTYPES

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
IGNORED = (".pragma", ".maxn", ".minn", ".reqntid", ".alias", ".callprototype", ".attribute")


def parsed(text: str) -> Module:
    """Return a module of PTX; raises PtxError for what is no PTX or of a version that is not known."""
    module, line, head, depth = Module(), NOWHERE, "", list[Body]()
    # NVVM names the files behind the code.
    files = {found[1]: found[2] for found in _FILE.finditer(text)}
    places: dict[str, SourceLine] = {}  # by file, line and column
    text, at = _COMMENT.sub(" ", text.rstrip("\0")).rstrip(), 0
    while at < len(text):
        if (found := _PIECE.match(text, at)) is None:
            raise PtxError("the text of PTX", "it ends within a statement")
        at, kind, piece = found.end(), found.lastgroup, found[found.lastgroup or 0].strip()
        if kind == "place":
            line = _located(piece, files, places) or line
        elif kind == "directive":
            _declare(module, piece)
        elif kind == "head":
            head = piece
        elif piece == "{":
            inner: Body = []
            if depth:
                depth[-1].append(inner)
            else:
                _begin(module, head, inner)
                line, head = NOWHERE, ""
            depth.append(inner)
        elif piece == "}" and depth:
            depth.pop()
        elif depth and kind != "section":
            depth[-1].append(Statement(piece, line))
        elif kind == "statement" and piece and not head and not piece.startswith(IGNORED):
            module.variables.setdefault((variable := variable_of(piece)).name, variable)
        elif kind == "label":
            raise PtxError("the text of PTX", f"the label {piece[:-1]} stands outside of every function")
        elif kind == "statement":
            head = ""
    if depth:
        raise PtxError("the text of PTX", "it ends within a statement")
    if not module.target:
        raise PtxError("the text of PTX", "it has no .version and .target")
    return module


def _located(piece: str, files: dict[str, str], places: dict[str, SourceLine]) -> SourceLine | None:
    """Return the line of a `.loc`; None where the compiler knows none and says 0."""
    if (found := _PLACE.match(piece)) is None or found[2] == "0":
        return None

    def line_of(place: str, line: str, outer: SourceLine | None = None) -> SourceLine:
        return SourceLine(files.get(place.split()[0], ""), int(line), outer)

    outer = None
    if found[3] is not None and found[4] != "0":
        # The place of a call that was itself inlined was named before.
        outer = places.get(found[3]) or line_of(found[3], found[4])
    places[found[1]] = line_of(found[1], found[2], outer)
    return places[found[1]]


def _declare(module: Module, piece: str) -> None:
    word, value = piece.split(None, 1)
    if word == ".target":
        module.target = value.split(",")[0].strip()
    elif word == ".version" and not 6 <= int(value.partition(".")[0]) < 10:
        raise PtxError("the text of PTX", f"it is of version {value}; 6.0 to 9.x are known")


def _begin(module: Module, head: str, body: Body) -> None:
    if (found := _FUNCTION.match(head)) is None:
        raise PtxError("the text of PTX", f"this is no function: {head[:80]}")
    parameters, results = (
        [variable_of(one) for one in (text or "").split(",") if one.strip()] for text in (found[4], found[2])
    )
    module.functions[found[3]] = Function(found[3], found[1] == "entry", parameters, results, body)


def variable_of(text: str) -> Variable:
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
