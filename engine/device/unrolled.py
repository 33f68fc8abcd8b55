"""`unrolled`: what `#pragma unroll` is in CUDA C, for kernels in Python."""

import ast
import inspect
import itertools
import textwrap
from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

# The compiler unrolls a loop whose code then stays short: of up to 17 taps in one kernel, of 12 in another.
_TAPS_PER_LOOP = 8
# What is longer stays a loop: its code would not fit in the cache of instructions.
MOST_UNROLLED = 32
_UNROLLED = "is_unrolled"


def unrolled(kernel: Callable[..., None]) -> Callable[..., None]:
    """Return a kernel whose loops over taps, of a number known when it is compiled, the compiler unrolls.

    Those are `for n in range(COUNT)`, COUNT a constant of the function around the kernel. Each is cut into
    loops of a few taps, one after the other, so that kernels that are compared have straight-line code alike.
    """
    definition, constants = definition_of(kernel)
    _CutLoops(constants).visit(definition)
    ast.increment_lineno(definition, kernel.__code__.co_firstlineno - 1)
    made = function_of(definition, constants, kernel.__globals__, kernel.__code__.co_filename)
    setattr(made, _UNROLLED, True)
    return made


def definition_of(kernel: Callable[..., None]) -> tuple[ast.FunctionDef, dict[str, object]]:
    """Return the definition of a kernel, its loops cut as they are, and the constants around it."""
    constants = dict(inspect.getclosurevars(kernel).nonlocals)
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kernel))).body
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    if hasattr(kernel, _UNROLLED):
        _CutLoops(constants).visit(definition)
    return definition, constants


def function_of(
    function: ast.FunctionDef, constants: dict[str, object], names: dict[str, object], path: str
) -> Callable[..., None]:
    """Return the function of a syntax tree, with constants around it and the names of its module."""
    around = ast.parse(f"def around({', '.join(constants)}):\n    return {function.name}")
    (factory,) = around.body
    assert isinstance(factory, ast.FunctionDef)
    factory.body.insert(0, function)
    made: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(around), path, "exec"), names, made)
    return cast("Callable[..., None]", made["around"](**constants))


class _CutLoops(ast.NodeTransformer):
    def __init__(self, constants: dict[str, Any]) -> None:
        self._constants = constants

    def visit_For(self, loop: ast.For) -> ast.For | list[ast.For]:
        match loop.iter:
            case ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=name)]) if name in self._constants:
                count = self._constants[name]
                if _TAPS_PER_LOOP < count <= MOST_UNROLLED:
                    loops = -(-count // _TAPS_PER_LOOP)
                    ends: list[ast.expr] = [ast.Constant(count * i // loops) for i in range(loops)]
                    pairs = itertools.pairwise([*ends, ast.Name(name, ast.Load())])
                    return [_between(loop, first, end) for first, end in pairs]
        return loop


def _between(loop: ast.For, first: ast.expr, end: ast.expr) -> ast.For:
    cut = deepcopy(loop)
    assert isinstance(cut.iter, ast.Call)
    cut.iter.args = [ast.copy_location(first, loop.iter), ast.copy_location(end, loop.iter)]
    return cut
