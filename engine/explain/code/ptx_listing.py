"""PTX as a listing: short names, classes, and the line of the source of each instruction."""

import re

from engine.explain.code.instruction_classes import is_ptx_64_bit, ptx_class
from engine.explain.code.listing import CodeLine, Form, Listing, SourceLine, short_path

# A place that the compiler could not attribute has line 0.
_LOCATION = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_LABEL = re.compile(r"(\$\w+):")
_INSTRUCTION = re.compile(r"\s+(?:\{\s*)?(?:@!?%p\d+\s+)?([a-z][\w.:]*)\b")
_MANGLED = re.compile(r"_ZN\w+?(?=_param_\d+|\W|$)")


def ptx_listing(ptx: str, kernel: str, architecture: str) -> Listing:
    """Return the PTX of one kernel, compiled with lines, as a listing.

    Numba's names, which are long and counted from the start of a process, become short: the kernel's name,
    and `shared`, `shared_2`, ... for its arrays.
    """
    files = {int(number): short_path(path) for number, path in _FILE.findall(ptx)}
    lines: list[CodeLine] = []
    source: SourceLine | None = None
    for text in _with_short_names(_code(ptx), kernel).split("\n"):
        if location := _LOCATION.match(text):
            line = int(location[2])
            source = SourceLine(files[int(location[1])], line) if line else None
            continue
        if _is_left_out(text):
            continue
        if label := _LABEL.match(text):
            lines.append(CodeLine(text, label=label[1]))
            continue
        found = _INSTRUCTION.match(text)
        if found is None or text.lstrip().startswith("."):
            lines.append(CodeLine(text))
            continue
        opcode = found[1]
        target = re.search(r"\bbra(?:\.uni)?\s+(\$\w+)", text)
        lines.append(
            CodeLine(
                text,
                ptx_class(opcode),
                opcode,
                target=target[1] if target else "",
                source=source,
                is_64_bit=is_ptx_64_bit(opcode),
            )
        )
    return Listing(Form.PTX, kernel, architecture, tuple(_without_empty_runs(lines)))


def _code(ptx: str) -> str:
    """Leave out the names of functions that were inlined, which stand behind the code for a debugger."""
    return re.split(r"(?m)^\$L__func_end\d+:|^\s*\.section\b", ptx)[0]


def _is_left_out(text: str) -> bool:
    return bool(_FILE.match(text)) or text.lstrip().startswith("//") or "NumbaEnv" in text


def _without_empty_runs(lines: list[CodeLine]) -> list[CodeLine]:
    kept: list[CodeLine] = []
    for line in lines:
        if line.text.strip() or (kept and kept[-1].text.strip()):
            kept.append(line)
    return kept[:-1] if kept and not kept[-1].text.strip() else kept


def _with_short_names(ptx: str, kernel: str) -> str:
    entry = re.search(r"\.entry\s+([^\s(]+)", ptx)
    text = ptx if entry is None else ptx.replace(entry[1], kernel)
    text = _MANGLED.sub(lambda found: _last_name(found[0]), text)
    arrays: dict[str, str] = {}

    def short(found: re.Match[str]) -> str:
        number = len(arrays) + 1
        return arrays.setdefault(found[0], "shared" if number == 1 else f"shared_{number}")

    return re.sub(r"_cudapy_smem\w*", short, text)


def _last_name(mangled: str) -> str:
    """Return the name of a function within the name that a linker sees: lengths and names in turn."""
    at, name = len("_ZN"), mangled
    if "NumbaEnv" in mangled:
        return mangled
    while number := re.compile(r"\d+").match(mangled, at):
        at = number.end() + int(number[0])
        name = mangled[number.end() : at]
    return name
