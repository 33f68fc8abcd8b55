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


def unrolled(kernel: Callable[..., None]) -> Callable[..., None]:
    """Return a kernel whose loops over taps, of a number known when it is compiled, the compiler unrolls.

    Those are `for n in range(COUNT)`, COUNT a constant of the function around the kernel. Each is cut into
    loops of a few taps, one after the other, so that kernels that are compared have straight-line code alike.
    """
    constants = dict(inspect.getclosurevars(kernel).nonlocals)
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(kernel))).body
    assert isinstance(function, ast.FunctionDef)
    function.decorator_list = []
    cut_loops(function, constants)
    ast.increment_lineno(function, kernel.__code__.co_firstlineno - 1)
    return function_of(function, constants, kernel.__globals__, kernel.__code__.co_filename)


def cut_loops(function: ast.FunctionDef, constants: dict[str, object]) -> None:
    """Cut the loops of a kernel, which has these constants around it, in its syntax tree."""
    _CutLoops(constants).visit(function)


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
