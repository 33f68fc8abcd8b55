"""`kernel_factory`: the decorator of functions that make CUDA kernels. No Numba in here.

What kernels are written with (`kernel_names`) is late: the first kernel of a module loads Numba.
"""

import ast
import functools
import inspect
import itertools
import textwrap
import weakref
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar, cast

from engine.compiled.late_names import with_names
from engine.device.launches import Kernel

Factory = TypeVar("Factory", bound=Callable[..., Any])

MOST_KERNELS = 64
# Each kernel's factory and the arguments, as text.
_origins: "weakref.WeakKeyDictionary[Kernel, list[str]]" = weakref.WeakKeyDictionary()


def kernel_factory(factory: Factory) -> Factory:
    """Decorate a factory of kernels or device functions: made once, their code kept on disk.

    Its arguments (numbers, texts, members of an enumeration, tuples and data classes of such) and the
    sources of the engine alone must decide the kernel.
    """

    @functools.lru_cache(maxsize=MOST_KERNELS)
    @functools.wraps(factory)
    def made(*arguments: object, **named: object) -> object:
        kernel = with_names(factory, of_module=True)(*arguments, **named)
        name = f"{factory.__module__}.{factory.__qualname__}"
        _origins[kernel] = [name, _text_of(arguments), _text_of(named)]
        return kernel

    return made  # type: ignore[return-value]


def note_origin(made: Kernel, kernel: Kernel, *arguments: object) -> None:
    """Note that a kernel is made of another one by these arguments: its code is kept as that one's is."""
    if (origin := origin_of(kernel)) is not None:
        _origins[made] = [*origin, _text_of(arguments)]


def origin_of(kernel: Kernel) -> list[str] | None:
    """Return a kernel's factory and arguments as text; None for one of another origin."""
    return _origins.get(kernel)


def _text_of(arguments: object) -> str:
    text = repr(arguments)
    # Another process would have another text.
    if " at 0x" in text:
        raise TypeError(f"a kernel made from {text} cannot be kept on disk")
    return text


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
