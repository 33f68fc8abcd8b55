"""The PTX and the SASS of a variant's kernels, compiled for an architecture that need not be here."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.compiled.late_names import import_names
from engine.device.device_list import missing
from engine.device.launches import Kernel, Pass, Signature
from engine.errors import BadValue
from engine.explain.code.code_diff import Diff, MeasuredDifference, listing_diff, source_diff
from engine.explain.code.instruction_classes import (
    InstructionClass,
    is_ptx_64_bit,
    is_sass_64_bit,
    ptx_class,
    sass_class,
)
from engine.explain.code.kernel_source import source_of
from engine.explain.code.listing import CodeLine, Form, ListedKernel, Listing, SourceLine, counted, short_path
from engine.explain.examples import Example
from engine.explain.gpus import Architecture

if TYPE_CHECKING:  # imported by `import_names`: Numba's CUDA target takes half a second
    from engine.device import kernel_code

# A place that the compiler could not attribute has line 0.
_LOCATION = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_PTX_LABEL = re.compile(r"(\$\w+):")
_PTX_INSTRUCTION = re.compile(r"\s+(?:\{\s*)?(?:@!?%p\d+\s+)?([a-z][\w.:]*)\b")
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
        if label := _PTX_LABEL.match(text):
            lines.append(CodeLine(text, label=label[1]))
            continue
        found = _PTX_INSTRUCTION.match(text)
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


_PLACE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
# A subroutine of the machine's own library begins at a name with dollars.
_SASS_LABEL = re.compile(r"(\.L\w+|\$[\w$]+):")
_SASS_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?((?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?))\s*;")
# The guard of an instruction that does nothing in any thread: some stand before a copy to shared memory.
_NEVER = "@!PT "
_TARGET = re.compile(r"`\((\.L\w+|\$[\w$]+)\)")


def sass_listing(text: str, kernel: str, architecture: str) -> Listing:
    """Return what nvdisasm wrote of one kernel as a listing, without the padding behind its end."""
    lines: list[CodeLine] = []
    source: SourceLine | None = None
    for line in text.split("\n"):
        if place := _PLACE.match(line):
            number = int(place[2])
            source = SourceLine(short_path(place[1]), number) if number else None
        elif label := _SASS_LABEL.match(line):
            lines.append(CodeLine(line, label=label[1]))
        elif found := _SASS_INSTRUCTION.match(line):
            whole, opcode, operands = found[1], found[2], found[3].strip()
            target = _TARGET.search(operands)
            lines.append(
                CodeLine(
                    f"    {' '.join(whole.split())};",
                    InstructionClass.OTHER if whole.startswith(_NEVER) else sass_class(opcode, operands),
                    opcode,
                    target=target[1] if target else "",
                    source=source,
                    is_64_bit=is_sass_64_bit(opcode, operands),
                )
            )
    return Listing(Form.SASS, kernel, architecture, tuple(_without_padding(lines)))


def _without_padding(lines: list[CodeLine]) -> list[CodeLine]:
    """Leave out what follows the last instruction: no operations, and a branch to itself."""
    end = len(lines)
    while end and (not lines[end - 1].kind or lines[end - 1].opcode == "NOP"):
        end -= 1
    if end > 1 and lines[end - 1].target and lines[end - 1].target == lines[end - 2].label:
        end -= 2
    return lines[:end]


def listed_kernels(example: Example, form: Form, architecture: Architecture) -> tuple[ListedKernel, ...]:
    """Return each kernel of a variant once, in the order of their launches.

    Raises BadValue for a variant without kernels of ours, where the CUDA compiler is missing, and for SASS
    without a disassembler; UnsupportedVariant where the variant does not run on such a device.
    """
    variant, what = example.variant, f"{form.upper()} of {example.variant.key}"
    if not variant.has_kernels:
        why = f"it has no CUDA kernel of ours{', but calls a library' if variant.library else ''}"
        raise BadValue(what, why, "Look at its source instead.")
    if missing:
        raise BadValue(what, missing, "Without it the source is shown.")
    launched: dict[tuple[int, str], list[Pass]] = {}
    for step in example.passes(architecture):
        launched.setdefault((id(step.kernel), str(step.signature)), []).append(step)
    found = []
    for steps in launched.values():
        listing = listing_of(steps[0].kernel, steps[0].signature, architecture, form)
        found.append(ListedKernel(tuple(one.name for one in steps), listing, counted(listing)))
    return tuple(found)


def kernel_diff(
    left: Example,
    right: Example,
    form: Form | None,
    architecture: Architecture,
    measured: MeasuredDifference | None = None,
) -> Diff:
    """Return what differs between two kernels in a form; None: in their source."""
    names = left.variant.key, right.variant.key
    if form is None:
        return source_diff(source_of(left).functions, source_of(right).functions, names, measured)
    sides = [[one.listing for one in listed_kernels(side, form, architecture)] for side in (left, right)]
    return listing_diff(sides[0], sides[1], names, measured)


@lru_cache(maxsize=64)
def listing_of(kernel: Kernel, signature: Signature, architecture: Architecture, form: Form) -> Listing:
    """Return the listing of a kernel for arguments of these types; SASS needs a disassembler."""
    import_names(__name__)
    code, name = (kernel, signature, (architecture.major, architecture.minor)), kernel.py_func.__name__
    if form is Form.PTX:
        return ptx_listing(kernel_code.explained_ptx(*code), name, str(architecture))
    text = kernel_code.disassembled(kernel_code.explained_machine_code(*code))
    return sass_listing(text, name, str(architecture))
