"""A kernel's own source with one cost taken out: a change of its syntax tree, and nothing else is touched.

What is called in the place of what is gone is in `stand_in_code.py`. Only what a kernel writes itself can be
taken out: an access that an emitter makes stands in no source of Python. No Numba in here.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from engine.explain.ablation.costs import Cost

STAND_INS = "bare_index", "not_loaded", "fence", "NEVER"
"""What an altered kernel may name beside what its source names."""
_MADE = "_made"


@dataclass(frozen=True, slots=True)
class Names:
    """What is what in a kernel's source, by its names."""

    pictures: frozenset[str]  # arrays with the picture, values between two passes, and results
    weights: frozenset[str]  # arrays that the kernel is given with its launch
    scalars: tuple[str, ...]  # float32 arguments
    rules: frozenset[str]  # index rules of borders


def altered(definition: ast.FunctionDef, cost: Cost, names: Names) -> bool:
    """Take a cost out of a kernel's definition, in place; return whether there was any."""
    change = _CHANGES[cost](names)
    change.change(definition)
    if change.changes:
        definition.name = f"{definition.name}_without_{cost.name.lower()}"
    return change.changes > 0


class _Change(ast.NodeTransformer):
    """A change of a kernel, which counts what it takes out."""

    def __init__(self, names: Names) -> None:
        self.names, self.changes = names, 0

    def change(self, definition: ast.FunctionDef) -> None:
        """Change a definition in place."""
        self.generic_visit(definition)


class _WithoutBorderTest(_Change):
    """Leaves indices as they are, and the branch for cells inside as the only one."""

    def change(self, definition: ast.FunctionDef) -> None:
        self._tested = {
            target.id
            for node in ast.walk(definition)
            if isinstance(node, ast.Assign) and self._is_rule(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        super().change(definition)

    def _is_rule(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name(id=name)):
                return name in self.names.rules
        return False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not self._is_rule(node):
            return node
        self.changes += 1
        return _call("bare_index", *node.args)

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        is_border_test = all(
            isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id in self._tested
            for test in tests
        )
        return node.body if is_border_test and not node.orelse else node


class _WithoutPictureLoads(_Change):
    """Takes a number from a cell's address, which is formed as before."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        name = _array_of(node)
        if name not in self.names.pictures or not isinstance(node.ctx, ast.Load):
            return node
        self.changes += 1
        return _call("not_loaded", node.value, _index_of(node))


class _WithoutWeightLoads(_Change):
    """Takes an argument of the kernel for each weight, also for those in constant memory."""

    def change(self, definition: ast.FunctionDef) -> None:
        self._arrays = set(self.names.weights)
        super().change(definition)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        match node:
            # The weights in constant memory, as the kernel calls them.
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Name(id=array)])) if (
                array in self.names.weights
            ):
                self._arrays.add(name)
                return None
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if _array_of(node) not in self._arrays or not self.names.scalars:
            return node
        self.changes += 1
        return _load(self.names.scalars[0])


class _WithoutStores(_Change):
    """Stores what no picture gives: all of the result has to be computed to find out."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        match node.targets:
            case [ast.Subscript(value=ast.Name(id=name))] if name in self.names.pictures:
                self.changes += 1
                kept = _assign(_MADE, node.value)
                node.value = _load(_MADE)
                test = ast.Compare(_load(_MADE), [ast.Eq()], [_load("NEVER")])
                return [kept, ast.If(test, [node], [])]
        return node


class _WithoutBarrier(_Change):
    """Leaves a fence for the compiler alone, so that loads and stores stay where they are."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node.func) != "cuda.syncthreads":
            return node
        self.changes += 1
        return _call("fence")


_CHANGES: dict[Cost, Callable[[Names], _Change]] = {
    Cost.BORDER_TEST: _WithoutBorderTest,
    Cost.PICTURE_LOADS: _WithoutPictureLoads,
    Cost.WEIGHT_LOADS: _WithoutWeightLoads,
    Cost.STORES: _WithoutStores,
    Cost.BARRIER: _WithoutBarrier,
}


def _array_of(node: ast.Subscript) -> str:
    return node.value.id if isinstance(node.value, ast.Name) else ""


def _index_of(node: ast.Subscript) -> ast.Tuple:
    """Return an index as a tuple, whatever the number of axes."""
    return node.slice if isinstance(node.slice, ast.Tuple) else ast.Tuple([node.slice], ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_load(name), list(arguments), [])


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)
