"""The source of a kernel, and its PTX and SASS, compiled for an architecture that need not be here.

A kernel is an inner function of a factory; the factory is shown whole, because what the compiler takes for
constants stands around the kernel. From there on follows what the kernel calls: the rules of borders and of
results, and the emitters of what Numba does not make. The emission layer itself (`engine.variants.emit`) is
left out: docs/emission.md has its words.
"""

import ast
import functools
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from engine.compiled.machine_code import MachineFunction
from engine.device import kernel_code
from engine.device.device_list import missing
from engine.device.launches import DeviceKind, Kernel, Pass, Signature
from engine.errors import BadValue
from engine.explain import code_lines
from engine.explain.code_diff import Diff, diff_of
from engine.explain.code_lines import CodeLine, Listing, ListingForm, Role, SourceFunction
from engine.explain.examples import Example
from engine.explain.instructions import InstructionClass, is_ptx_64_bit, is_sass_64_bit, ptx_class, sass_class
from engine.explain.launches import Architecture

# `engine`, or what it is called where it is installed.
_ENGINE = __name__.rpartition(".explain.")[0]
_OURS = tuple(f"{_ENGINE}.{folder}." for folder in ("variants", "device", "geometry"))
# The words that emitters are written in, and how threads share what is to be done.
_LEFT_OUT = tuple(f"{_ENGINE}.{begin}" for begin in ("variants.emit.", "device.thread_"))


def source_of(example: Example) -> code_lines.KernelSource:
    """Return the source of a variant, compiled for an example; nothing is compiled."""
    variant, remark = example.variant, ""
    found: Iterable[tuple[Role, FunctionType]]
    if variant.has_kernels and missing:
        # Kernels with memory of their own cannot be made, so what they call is not known.
        found = ((Role.KERNEL, one) for _, one in _reached((Role.HOST, variant.passes)))
        remark = f"The functions that the kernel calls are not shown: {missing}."
    elif variant.has_kernels:
        found = _reached(*((Role.KERNEL, step.kernel.py_func) for step in example.passes()))
    else:
        host = list(_reached((Role.HOST, variant.prepare)))
        compiled = [one for one in host if one[0] is not Role.HOST]
        found = compiled or host
        if not compiled:
            remark = (
                f"No kernel of ours: the package {variant.library} computes, and its source is not here. "
                "The code below calls it."
            )
        elif variant.device is DeviceKind.CPU:
            remark = "Compiled for the CPU by Numba: it has machine code of this processor and no PTX."
    # Each place once.
    by_place: dict[tuple[str, int], SourceFunction] = {}
    for role, function in found:
        path = function.__code__.co_filename
        if (node := _around(_file(path)[1], function.__code__.co_firstlineno)) is not None:
            shown = _shown(role, function.__name__ if role is Role.KERNEL else node.name, node, path)
            if not (variant.has_kernels and missing) or shown.lines[0] == "@kernel_factory":
                by_place.setdefault((shown.path, shown.first_line), shown)
    order = list(Role)
    functions = sorted(by_place.values(), key=lambda one: order.index(one.role))
    return code_lines.KernelSource(code_lines.story_of(variant), tuple(functions), remark)


def function_source(module: str, name: str) -> SourceFunction:
    """Return a function of a module that is no kernel, or a method ("Class.name"); neither is imported."""
    spec = find_spec(f"{_ENGINE}.{module}")
    path = str(spec and spec.origin)
    node: Any = _file(path)[1]
    for part in name.split("."):
        node = next(one for one in node.body if getattr(one, "name", "") == part)
    return _shown(Role.HOST, node.name, node, path)


def _shown(role: Role, name: str, node: Any, path: str) -> SourceFunction:
    first = _first_line(node)
    lines = tuple(_file(path)[0][first - 1 : node.end_lineno])
    return SourceFunction(role, name, code_lines.short_path(path), first, lines)


@functools.cache
def _file(path: str) -> tuple[list[str], ast.Module]:
    text = Path(path).read_text(encoding="utf-8")
    return text.split("\n"), ast.parse(text)


def _first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _around(node: Any, line: int) -> Any:
    """Return the outermost function of a module around a line; of a class its method."""
    for one in node.body:
        is_one = isinstance(one, ast.FunctionDef | ast.ClassDef)
        if is_one and _first_line(one) <= line <= one.end_lineno:
            return _around(one, line) or one if isinstance(one, ast.ClassDef) else one
    return None


# The role of what a function of a role names; of others that of a device function.
_CALLED = {Role.HOST: Role.HOST, Role.EMITTER: Role.HELPER, Role.HELPER: Role.HELPER}


def _reached(*begin: tuple[Role, object]) -> Iterator[tuple[Role, FunctionType]]:
    """Yield every function of ours that these reach, with its role, the nearest first."""
    waiting, seen = list(begin), set()
    while waiting:
        role, value = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        value = inspect.unwrap(value) if isinstance(value, FunctionType) else value
        if isinstance(value, FunctionType):
            # The methods that a data class generates are in no file.
            if not (_is_ours(value.__module__) and value.__code__.co_filename.endswith(".py")):
                continue
            yield role, value
            waiting += [(_CALLED.get(role, Role.DEVICE_FUNCTION), one) for one in _named_in(value)]
        else:
            waiting += list(_within(role, value))


# What makes code for the CPU (`engine.variants.operations.kernels.CpuCode`), emitters, what Numba compiles
# when a kernel calls it, and what keeps what it once made: each has a function.
_MADE_OF = {"factory": Role.KERNEL, "emit": Role.EMITTER, "py_func": None, "__wrapped__": None}


def _within(role: Role, value: object) -> Iterator[tuple[Role, object]]:
    """Yield the functions that an object stands for."""
    if isinstance(value, MachineFunction):
        if _is_ours(value.module):
            yield Role.KERNEL, value.function()
    elif isinstance(value, MethodType | functools.partial):
        yield role, value.__func__ if isinstance(value, MethodType) else value.func
    elif isinstance(value, dict | tuple | list):
        yield from ((role, one) for one in (value.values() if isinstance(value, dict) else value))
    elif isinstance(value, type):
        if role is Role.HOST and _is_ours(value.__module__):
            members = (member for one in value.__mro__ for member in vars(one).values())
            codes = FunctionType, MachineFunction, staticmethod
            yield from ((role, one) for one in members if isinstance(one, codes))
    else:
        for name, own in _MADE_OF.items():
            if isinstance(function := getattr(value, name, None), FunctionType):
                yield own or role, function
                return


def _is_ours(module: str | None) -> bool:
    name = f"{module or ''}"
    return name.startswith(_OURS) and not name.startswith(_LEFT_OUT)


def _named_in(function: FunctionType) -> list[object]:
    """Return what a function, and the functions within it, name: values around it and of its module."""
    names: list[str] = []
    codes: list[CodeType] = [function.__code__]
    while codes:
        code = codes.pop(0)
        names += code.co_names
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    around = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
    module = vars(sys.modules[function.__module__]) if function.__module__ in sys.modules else {}
    found = [*around.values(), *(module[name] for name in dict.fromkeys(names) if name in module)]
    for one in [one for one in found if isinstance(one, ModuleType) and _is_ours(one.__name__)]:
        found += [vars(one)[name] for name in names if name in vars(one)]
    return [one for one in found if callable(one) or isinstance(one, MachineFunction | dict | tuple | list)]


# A place that the compiler could not attribute has line 0.
_LOCATION = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_PTX_LABEL = re.compile(r"(\$\w+):")
_PTX_INSTRUCTION = re.compile(r"\s+(?:\{\s*)?(?:@!?%p\d+\s+)?([a-z][\w.:]*)\b")
_PTX_TARGET = re.compile(r"\bbra(?:\.uni)?\s+(\$\w+)")
_MANGLED, _NUMBER = re.compile(r"_ZN\w+?(?=_param_\d+|\W|$)"), re.compile(r"\d+")


def ptx_listing(ptx: str, kernel: str, architecture: str) -> Listing:
    """Return the PTX of one kernel, compiled with lines, as a listing.

    Numba's names, which are long and counted from the start of a process, become short: the kernel's name,
    and `shared`, `shared_2`, ... for its arrays.
    """
    files = {int(number): code_lines.short_path(path) for number, path in _FILE.findall(ptx)}
    lines: list[CodeLine] = []
    source: code_lines.SourceLine | None = None
    # The names of functions that were inlined stand behind the code for a debugger.
    code = re.split(r"(?m)^\$L__func_end\d+:|^\s*\.section\b", ptx)[0]
    for text in _with_short_names(code, kernel).split("\n"):
        if location := _LOCATION.match(text):
            line = int(location[2])
            source = code_lines.SourceLine(files[int(location[1])], line) if line else None
        elif _FILE.match(text) or text.lstrip().startswith("//") or "NumbaEnv" in text:
            continue
        elif label := _PTX_LABEL.match(text):
            lines.append(CodeLine(text, label=label[1]))
        elif (found := _PTX_INSTRUCTION.match(text)) and not text.lstrip().startswith("."):
            opcode, target = found[1], _PTX_TARGET.search(text)
            goal, is_wide = target[1] if target else "", is_ptx_64_bit(opcode)
            lines.append(CodeLine(text, ptx_class(opcode), opcode, "", goal, source, is_wide))
        elif text.strip() or (lines and lines[-1].text.strip()):
            # Of empty lines that follow one another the first.
            lines.append(CodeLine(text))
    if lines and not lines[-1].text.strip():
        lines.pop()
    return Listing(ListingForm.PTX, kernel, architecture, tuple(lines))


def _with_short_names(ptx: str, kernel: str) -> str:
    entry = re.search(r"\.entry\s+([^\s(]+)", ptx)
    text = ptx if entry is None else ptx.replace(entry[1], kernel)

    def last_name(found: re.Match[str]) -> str:
        """Return the name of a function within the name that a linker sees: lengths and names in turn."""
        at, mangled = len("_ZN"), found[0]
        name = mangled
        while "NumbaEnv" not in mangled and (number := _NUMBER.match(mangled, at)):
            at = number.end() + int(number[0])
            name = mangled[number.end() : at]
        return name

    text = _MANGLED.sub(last_name, text)
    arrays = dict.fromkeys(re.findall(r"_cudapy_smem\w*", text))
    short = {name: f"shared_{number}" if number > 1 else "shared" for number, name in enumerate(arrays, 1)}
    return re.sub(r"_cudapy_smem\w*", lambda found: short[found[0]], text)


_PLACE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
# A subroutine of the machine's own library begins at a name with dollars.
_SASS_LABEL = re.compile(r"(\.L\w+|\$[\w$]+):")
_SASS_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?((?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?))\s*;")
# The guard of an instruction that does nothing in any thread: some stand before a copy to shared memory.
_NEVER = "@!PT "
_TARGET = re.compile(r"`\((\.L\w+|\$[\w$]+)\)")


def sass_listing(written: str, kernel: str, architecture: str) -> Listing:
    """Return what nvdisasm wrote of one kernel as a listing, without the padding behind its end."""
    lines: list[CodeLine] = []
    source: code_lines.SourceLine | None = None
    for line in written.split("\n"):
        if place := _PLACE.match(line):
            number = int(place[2])
            source = code_lines.SourceLine(code_lines.short_path(place[1]), number) if number else None
        elif label := _SASS_LABEL.match(line):
            lines.append(CodeLine(line, label=label[1]))
        elif found := _SASS_INSTRUCTION.match(line):
            whole, opcode, operands = found[1], found[2], found[3].strip()
            target, text = _TARGET.search(operands), f"    {' '.join(whole.split())};"
            kind = InstructionClass.OTHER if whole.startswith(_NEVER) else sass_class(opcode, operands)
            goal, is_wide = target[1] if target else "", is_sass_64_bit(opcode, operands)
            lines.append(CodeLine(text, kind, opcode, "", goal, source, is_wide))
    # What follows the last instruction: no operations, and a branch to itself.
    while lines and (not lines[-1].kind or lines[-1].opcode == "NOP"):
        lines.pop()
    if len(lines) > 1 and lines[-1].target and lines[-1].target == lines[-2].label:
        del lines[-2:]
    return Listing(ListingForm.SASS, kernel, architecture, tuple(lines))


def listed_kernels(example: Example, form: ListingForm, architecture: Architecture) -> tuple[Listing, ...]:
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
        found.append(replace(listing, passes=tuple(one.name for one in steps)))
    return tuple(found)


def kernel_diff(left: Example, right: Example, form: ListingForm | None, architecture: Architecture) -> Diff:
    """Return what differs between two kernels in a form; None: in their source."""
    names = left.variant.key, right.variant.key
    if form is None:
        return diff_of(source_of(left).functions, source_of(right).functions, names)
    left_code, right_code = (listed_kernels(side, form, architecture) for side in (left, right))
    return diff_of(left_code, right_code, names)


@lru_cache(maxsize=64)
def listing_of(
    kernel: Kernel, signature: Signature, architecture: Architecture, form: ListingForm
) -> Listing:
    """Return the listing of a kernel for arguments of these types; SASS needs a disassembler."""
    code, name = (kernel, signature, (architecture.major, architecture.minor)), kernel.py_func.__name__
    if form is ListingForm.PTX:
        return ptx_listing(kernel_code.explained_ptx(*code), name, str(architecture))
    text = kernel_code.disassembled(kernel_code.explained_machine_code(*code))
    return sass_listing(text, name, str(architecture))
