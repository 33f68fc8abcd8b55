"""A kernel's own source, made to run for threads in lockstep (`lockstep.py`).

The source is parsed; branches, loops, returns, assignments and conditions become calls of the `Lockstep`
that runs it, and nothing else is changed. Device functions are made the same way; what an emitter makes runs
through `lockstep_emitter.py`.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from engine.explain.code.listing import short_path
from engine.explain.counts.lockstep import Lockstep, Value, not_in_source
from engine.explain.counts.lockstep_arrays import LockstepArray, cuda_of
from engine.explain.counts.lockstep_emitter import LockstepCode
from engine.explain.counts.unknown import UNKNOWN

_RUN, _FRAME = "_lockstep", "_frame"


def in_lockstep(
    kernel: Callable[..., Any],
    run: Lockstep,
    constant: LockstepArray | None = None,
    *,
    has_values: bool = False,
) -> Callable[..., Any]:
    """Return a kernel, the plain function, for threads in lockstep.

    `constant` is its array in constant memory; `has_values` says whether arrays hold values.
    """
    definition = _definition(kernel)
    cuda = cuda_of(run, _shared_names(definition), has_values)
    return _Functions(run, constant, {"cuda": cuda, **_numbers()}, has_values).made(kernel)


class _Functions:
    """Makes a kernel and what it calls run for threads in lockstep."""

    def __init__(
        self, run: Lockstep, constant: LockstepArray | None, words: dict[str, Any], has_values: bool
    ) -> None:
        self._words = words | {_RUN: run}
        self._code = LockstepCode(run, constant, self.made, has_values)
        self._kept: dict[Callable[..., Any], Callable[..., Any]] = {}

    def made(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a plain function for threads in lockstep."""
        found = self._kept.get(function)
        if found is None:
            found = self._kept[function] = self._compiled(function)
        return found

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        definition = _definition(function)
        used = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
        _Steps(short_path(function.__code__.co_filename)).visit_function(definition)
        module = ast.fix_missing_locations(ast.Module([definition], []))
        compiled = compile(module, function.__code__.co_filename, "exec")
        closed = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        names = function.__globals__ | {name: cell.cell_contents for name, cell in closed}
        names = {
            name: self._callable(value) if name in used and name not in self._words else value
            for name, value in names.items()
        }
        names |= self._words
        exec(compiled, names)
        made: Callable[..., Any] = names[definition.name]
        return made

    def _callable(self, value: Any) -> Any:
        if hasattr(value, "emit"):
            return self._code.function(value)
        return self.made(value.py_func) if hasattr(value, "py_func") else value


def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    # Lines are those of the file.
    ast.increment_lineno(definition, function.__code__.co_firstlineno - 1)
    definition.decorator_list = []
    return definition


def _shared_names(definition: ast.FunctionDef) -> list[str]:
    """Return the names of the arrays in shared memory, in the source's order."""
    found = []
    for node in ast.walk(definition):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called)):
                if ast.unparse(called) == "cuda.shared.array":
                    found.append((node.lineno, name))
    return [name for _, name in sorted(found)]


class NumberType:
    """A type of numbers as a kernel calls it, or gives it to an array."""

    def __init__(self, name: str) -> None:
        self._kind = np.dtype(name)

    def __call__(self, value: Value) -> Value:
        """Return a value as this type."""
        if value is UNKNOWN:
            # Whole numbers may be addresses, which are refused then.
            return value
        return value.astype(self._kind) if isinstance(value, np.ndarray) else self._kind.type(value)

    def __str__(self) -> str:
        return self._kind.name


def _numbers() -> dict[str, Any]:
    """Return what stands for the types and functions of numbers."""
    types = ("float32", "float64", "int32", "int64", "uint8")

    def whole(value: Value) -> Value:
        if value is UNKNOWN:
            return value
        return value.astype(np.int64) if isinstance(value, np.ndarray) else int(value)

    def root(value: Value) -> Value:
        return UNKNOWN if value is UNKNOWN else np.sqrt(value)

    return {
        **{name: NumberType(name) for name in types},
        "int": whole,
        "min": smallest,
        "max": largest,
        "sqrt": root,
        "math": SimpleNamespace(sqrt=root),
    }


def smallest(*values: Value) -> Value:
    """Return the smallest of some values, for each thread."""
    return _extreme(min, np.minimum, values)


def largest(*values: Value) -> Value:
    """Return the largest of some values, for each thread."""
    return _extreme(max, np.maximum, values)


def _extreme(plain: Callable[..., Any], of_arrays: Callable[..., Any], values: tuple[Value, ...]) -> Value:
    if any(value is UNKNOWN for value in values):
        return UNKNOWN
    if any(isinstance(value, np.ndarray) for value in values):
        first, *others = values
        for other in others:
            first = of_arrays(first, other)
        return first
    return plain(values)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    method = ast.Attribute(ast.Name(_RUN, ast.Load()), name, ast.Load())
    return ast.Call(method, list(arguments), [])


def _later(value: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, value)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _is_plain(node: ast.expr) -> bool:
    return not any(isinstance(one, ast.Subscript | ast.Call | ast.IfExp) for one in ast.walk(node))


class _Steps(ast.NodeTransformer):
    """Replaces what threads may do differently by calls of the `Lockstep`."""

    def __init__(self, path: str) -> None:
        self._path, self._made_names = path, 0

    def visit(self, node: ast.AST) -> Any:
        """Change a node; what is made of it has its line."""
        changed = super().visit(node)
        for made in changed if isinstance(changed, list) else [changed]:
            for part in ast.walk(made):
                if "lineno" in part._attributes and not hasattr(part, "lineno"):
                    ast.copy_location(part, node)
        return changed

    def _line(self, node: ast.stmt) -> ast.Tuple:
        return ast.Tuple([ast.Constant(self._path), ast.Constant(node.lineno)], ast.Load())

    def _new_name(self) -> str:
        self._made_names += 1
        return f"_made_{self._made_names}"

    def visit_function(self, definition: ast.FunctionDef) -> None:
        """Change a function in place."""
        parameters = {one.arg for one in definition.args.args}
        own = {
            node.id
            for node in ast.walk(definition)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        body = definition.body
        if ast.get_docstring(definition) is not None:
            body = body[1:]
        begin: list[ast.stmt] = [_assign(name, ast.Constant(None)) for name in sorted(own - parameters)]
        begin.append(_assign(_FRAME, _call("enter")))
        steps = self._block(body)
        definition.body = [*begin, *steps, ast.Return(_call("leave", _load(_FRAME)))]

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            changed = self.visit(statement)
            made += changed if isinstance(changed, list) else [changed]
        return made

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = self.visit(node.value) if node.value is not None else ast.Constant(None)
        return ast.If(
            _call("give_back", _load(_FRAME), value), [ast.Return(_call("leave", _load(_FRAME)))], []
        )

    def visit_If(self, node: ast.If) -> ast.stmt:
        side = self._new_name()
        body, otherwise = self._block(node.body), self._block(node.orelse)
        branch = ast.If(_load(side), body, otherwise)
        return self._loop(side, _call("sides", self.visit(node.test)), [branch])

    def visit_For(self, node: ast.For) -> ast.stmt:
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=limits)):
                limits = [self.visit(limit) for limit in limits]
                return self._loop(name, _call("rounds", self._line(node), *limits), self._block(node.body))
        raise not_in_source("a loop over something else than a range")

    def visit_While(self, node: ast.While) -> ast.stmt:
        again = _call("repeating", self._line(node), _later(self.visit(node.test)))
        return self._loop(self._new_name(), again, self._block(node.body))

    def _loop(self, name: str, values: ast.expr, body: list[ast.stmt]) -> ast.stmt:
        return ast.For(ast.Name(name, ast.Store()), values, body, [])

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        raise not_in_source("a break")

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        raise not_in_source("a continue")

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self._new_name()
        made: list[ast.stmt] = [_assign(value, self.visit(node.value))]
        for target in node.targets:
            made += self._set(target, _load(value))
        return made

    def _set(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        match target:
            case ast.Name(id=name):
                return [_assign(name, _call("set", _load(name), value))]
            case ast.Tuple(elts=parts):
                found = [
                    (part, ast.Subscript(value, ast.Constant(number), ast.Load()))
                    for number, part in enumerate(parts)
                ]
                return [step for part, one in found for step in self._set(part, one)]
            case ast.Subscript():
                return [ast.Assign([self.visit(target)], value)]
        raise not_in_source(f"an assignment to {ast.unparse(target)}")

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name):
            node.target, node.value = self.visit(node.target), self.visit(node.value)
            return node
        name = node.target.id
        return _assign(
            name, _call("set", _load(name), ast.BinOp(_load(name), node.op, self.visit(node.value)))
        )

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        name = "both" if isinstance(node.op, ast.And) else "either"
        *others, made = node.values
        is_plain = _is_plain(made)
        made = self.visit(made)
        for one in reversed(others):
            made = _call(name, self.visit(one), _later(made), ast.Constant(is_plain))
            is_plain = is_plain and _is_plain(one)
        return made

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1:
            return self.generic_visit(node)  # type: ignore[return-value]
        sides = [node.left, *node.comparators]
        pairs: list[ast.expr] = [
            ast.Compare(one, [sign], [other])
            for one, sign, other in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return self.visit_BoolOp(ast.BoolOp(ast.And(), pairs))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return _call("negated", self.visit(node.operand))
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        parts = (_later(self.visit(node.body)), _later(self.visit(node.orelse)))
        return _call("chosen", self.visit(node.test), *parts)
