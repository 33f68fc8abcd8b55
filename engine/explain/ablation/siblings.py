"""The siblings of a variant's kernels: each the kernel without one cost, wrong on purpose.

They are no variants: nothing lists them, their results are not looked at, and their code is not kept on disk.
"""

import ast
import inspect
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.device.launches import Between, Kernel, Pass, Placeholder
from engine.device.unrolled import cut_loops, function_of, unrolled
from engine.explain.ablation import stand_in_code
from engine.explain.ablation.altered_source import STAND_INS, Names, altered
from engine.explain.ablation.costs import Cost
from engine.geometry.border import Border

MOST_KEPT = 128
_RULES = {border.rule for border in Border}


@dataclass(frozen=True, eq=False)
class Sibling:
    """A kernel that was made here: a function, and the options that the kernel is compiled with."""

    py_func: Callable[..., None]
    targetoptions: dict[str, Any]


def without(passes: tuple[Pass, ...], cost: Cost) -> tuple[Pass, ...] | None:
    """Return the passes without a cost; None where none of them has it."""
    changed = [_without(step, cost) for step in passes]
    if not any(changed):
        return None
    return tuple(one or step for one, step in zip(changed, passes, strict=True))


def _without(step: Pass, cost: Cost) -> Pass | None:
    kernel = _sibling(step.kernel, cost, _roles(step))
    if kernel is None:
        return None
    # What is not read need not be written before the launch.
    constant = None if cost is Cost.WEIGHT_LOADS else step.constant
    return step._replace(name=kernel.py_func.__name__, kernel=kernel, constant=constant)


_Roles = tuple[tuple[str, str], ...]


def _roles(step: Pass) -> _Roles:
    """Return what each argument of a pass is, by its name in the kernel."""

    def role(argument: Any) -> str:
        if isinstance(argument, Placeholder | Between):
            return "picture"
        if isinstance(argument, np.ndarray):
            return "weights"
        return "scalar" if isinstance(argument, np.floating | float) else ""

    names = inspect.signature(step.kernel.py_func).parameters
    return tuple((name, role(one)) for name, one in zip(names, step.arguments, strict=True))


@lru_cache(maxsize=MOST_KEPT)
def _sibling(kernel: Kernel, cost: Cost, roles: _Roles) -> Kernel | None:
    """Return a kernel without a cost; None where its source has none of it."""
    function = kernel.py_func
    constants = dict(inspect.getclosurevars(function).nonlocals)
    definition, is_unrolled = _definition(function)
    if is_unrolled:
        cut_loops(definition, constants)
    rules = {name: value for name, value in constants.items() if _rule_of(value) in _RULES}

    def of(wanted: str) -> tuple[str, ...]:
        return tuple(name for name, role in roles if role == wanted)

    names = Names(frozenset(of("picture")), frozenset(of("weights")), of("scalar"), frozenset(rules))
    if not altered(definition, cost, names):
        return None
    made = _made(definition, function, constants)
    return Sibling(made, kernel.targetoptions)


def _rule_of(value: Any) -> Any:
    """Return the plain function of a device function."""
    return getattr(value, "py_func", getattr(value, "fn", None))


def _definition(function: Callable[..., None]) -> tuple[ast.FunctionDef, bool]:
    """Return the definition of a kernel in its file, and whether its loops are cut (`unrolled`)."""
    code = function.__code__
    tree = ast.parse(Path(code.co_filename).read_text(encoding="utf-8"))
    (definition,) = _defined(tree, code.co_name, code.co_firstlineno)
    is_unrolled = any(ast.unparse(one) == unrolled.__name__ for one in definition.decorator_list)
    definition.decorator_list = []
    return definition, is_unrolled


def _defined(tree: ast.Module, name: str, line: int) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= node.lineno:
                yield node


def _made(
    definition: ast.FunctionDef, function: Callable[..., None], constants: dict[str, Any]
) -> Callable[..., None]:
    """Return the function of a changed definition, and write its source down, where Python finds it."""
    text = ast.unparse(ast.fix_missing_locations(definition)) + "\n"
    # No file has such a name.
    path = f"<{definition.name} of {Path(function.__code__.co_filename).name}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    (written,) = ast.parse(text).body
    assert isinstance(written, ast.FunctionDef)
    stand_ins = {name: getattr(stand_in_code, name) for name in STAND_INS}
    return function_of(written, constants | stand_ins, function.__globals__, path)
