"""The source of a kernel: which functions of which files belong to it, with their lines.

A kernel is an inner function of a factory; the factory is shown whole, because what the compiler takes for
constants stands around the kernel. From there on follows what the kernel calls: the rules of borders and of
results, and the emitters of what Numba does not make. The emission layer itself (`engine.variants.emit`) is
left out: docs/emission.md has its words.
"""

import ast
import functools
import inspect
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from engine.compiled.machine_code import MachineFunction
from engine.device.device_list import missing
from engine.device.launches import DeviceKind
from engine.explain.code.listing import short_path
from engine.explain.code.source import KernelSource, Role, SourceFunction, story_of
from engine.explain.examples import AnyKernel, Example

# `engine`, or what it is called where it is installed.
_ENGINE = __name__.rpartition(".explain.")[0]
_CALLED = tuple(f"{_ENGINE}.{folder}." for folder in ("variants", "device", "geometry"))
# The words that emitters are written in, and how threads share what is to be done.
_LEFT_OUT = tuple(f"{_ENGINE}.{begin}" for begin in ("variants.emit.", "device.thread_"))


def source_of(example: Example) -> KernelSource:
    """Return the source of a variant, compiled for an example; nothing is compiled."""
    variant = example.variant
    if variant.has_kernels and missing:
        # Kernels with memory of their own cannot be made, so what they call is not known.
        remark = f"The functions that the kernel calls are not shown: {missing}."
        return KernelSource(story_of(variant), _functions(_factories(variant)), remark)
    if variant.has_kernels:
        kernels = [step.kernel.py_func for step in example.passes()]
        functions = _functions(_reached([(Role.KERNEL, one) for one in kernels]))
        return KernelSource(story_of(variant), functions, "")
    host = list(_reached([(Role.HOST, variant.prepare)]))
    compiled = [(role, one) for role, one in host if role is not Role.HOST]
    remark = ""
    if not compiled:
        remark = (
            f"No kernel of ours: the package {variant.library} computes, and its source is not here. The "
            "code below calls it."
        )
    elif variant.device is DeviceKind.CPU:
        remark = "Compiled for the CPU by Numba: it has machine code of this processor and no PTX."
    return KernelSource(story_of(variant), _functions(compiled or host), remark)


def function_source(module: str, name: str) -> SourceFunction:
    """Return a function of a module that is no kernel, or a method ("Class.name"); neither is imported."""
    spec = find_spec(f"{_ENGINE}.{module}")
    path = str(spec and spec.origin)
    lines, tree = _file(path)
    node: Any = tree
    for part in name.split("."):
        node = next(one for one in node.body if getattr(one, "name", "") == part)
    return _of_node(Role.HOST, node.name, node, path, lines)


def _factories(variant: AnyKernel) -> Iterator[tuple[Role, FunctionType]]:
    """Yield the factories of kernels that a variant's passes call, which are not made."""
    for _, function in _reached([(Role.HOST, variant.passes)]):
        _, tree = _file(function.__code__.co_filename)
        node = _around(tree, function.__code__.co_firstlineno)
        if node is not None and any(ast.unparse(one) == "kernel_factory" for one in node.decorator_list):
            yield Role.KERNEL, function


def _functions(found: Any) -> tuple[SourceFunction, ...]:
    """Return the functions of objects, each place once, by their roles."""
    by_place: dict[tuple[str, int], SourceFunction] = {}
    for role, function in found:
        shown = _shown(role, function)
        if shown is not None:
            by_place.setdefault((shown.path, shown.first_line), shown)
    order = list(Role)
    return tuple(sorted(by_place.values(), key=lambda one: order.index(one.role)))


def _shown(role: Role, function: FunctionType) -> SourceFunction | None:
    """Return the outermost function, or the method, around a function."""
    code = function.__code__
    lines, tree = _file(code.co_filename)
    node = _around(tree, code.co_firstlineno)
    if node is None:
        return None
    name = function.__name__ if role is Role.KERNEL else node.name
    return _of_node(role, name, node, code.co_filename, lines)


def _of_node(role: Role, name: str, node: Any, path: str, lines: list[str]) -> SourceFunction:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return SourceFunction(role, name, short_path(path), first, tuple(lines[first - 1 : node.end_lineno]))


@functools.cache
def _file(path: str) -> tuple[list[str], ast.Module]:
    text = Path(path).read_text(encoding="utf-8")
    return text.split("\n"), ast.parse(text)


def _around(tree: ast.Module, line: int) -> Any:
    """Return the outermost function around a line; of a class its method."""

    def holding(body: list[ast.stmt]) -> object:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                if first <= line <= (node.end_lineno or first):
                    return node
        return None

    node = holding(tree.body)
    return holding(node.body) or node if isinstance(node, ast.ClassDef) else node


def _reached(begin: list[tuple[Role, object]]) -> Iterator[tuple[Role, FunctionType]]:
    """Yield every function of ours that these reach, with its role, the nearest first."""
    waiting, seen = list(begin), set()
    while waiting:
        role, value = waiting.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        value = inspect.unwrap(value) if isinstance(value, FunctionType) else value
        if isinstance(value, FunctionType):
            # What a data class makes for itself stands in no file.
            if not (_is_ours(value.__module__) and value.__code__.co_filename.endswith(".py")):
                continue
            yield role, value
            waiting += [(_role_of(role, one), one) for one in _named_in(value)]
        else:
            waiting += list(_within(role, value))


def _role_of(caller: Role, value: object) -> Role:
    """Return the role of what a function of a role names."""
    if caller is Role.HOST:
        return Role.HOST
    if caller in (Role.EMITTER, Role.HELPER):
        return Role.HELPER
    return Role.DEVICE_FUNCTION


def _within(role: Role, value: object) -> Iterator[tuple[Role, object]]:
    """Yield the functions that an object stands for."""
    if isinstance(value, MachineFunction):
        if _is_ours(value.module):
            yield Role.KERNEL, value.function()
    elif isinstance(factory := getattr(value, "factory", None), FunctionType):
        # What makes code for the CPU (`engine.variants.operations.kernels.CpuCode`).
        yield Role.KERNEL, factory
    elif isinstance(value, MethodType | functools.partial):
        yield role, value.__func__ if isinstance(value, MethodType) else value.func
    elif isinstance(value, dict):
        yield from ((role, one) for one in value.values())
    elif isinstance(value, tuple | list):
        yield from ((role, one) for one in value)
    elif isinstance(emit := getattr(value, "emit", None), FunctionType):
        # What an emitter makes, for the device or the CPU.
        yield Role.EMITTER, emit
    elif isinstance(value, type):
        if role is Role.HOST and _is_ours(value.__module__):
            for one in value.__mro__:
                yield from ((role, member) for member in vars(one).values() if _is_code(member))
    elif isinstance(function := getattr(value, "py_func", None), FunctionType):
        # Compiled by Numba when a kernel calls it.
        yield role, function
    elif isinstance(function := getattr(value, "__wrapped__", None), FunctionType):
        # It keeps what it once made.
        yield role, function


def _is_code(member: object) -> bool:
    return isinstance(member, FunctionType | MachineFunction | staticmethod)


def _is_ours(module: str | None) -> bool:
    name = f"{module or ''}"
    return name.startswith(_CALLED) and not name.startswith(_LEFT_OUT)


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
    return [one for one in found if _may_be_code(one)]


def _may_be_code(value: object) -> bool:
    return callable(value) or isinstance(value, MachineFunction | dict | tuple | list)
