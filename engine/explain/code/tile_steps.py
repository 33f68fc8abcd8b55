"""Which lines of a kernel carry out a step of its tile, read from its source. Pure functions.

A load is a statement that stores into shared memory what is read of the picture, with the lines above it up
to the comment that says so. A cell that is not kept is read where a result uses it. Kernels that are emitted,
not written, have no such statements: nothing is known of their steps.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.explain.code.source_function import SourceFunction

Lines = tuple[int, ...]
_SHARED = "cuda.shared.array"
_BARRIER = "cuda.syncthreads"


@dataclass(frozen=True, slots=True)
class TileSteps:
    """Lines of a kernel's file, from 1: those of each load, in the source's order, and of direct reads."""

    loads: tuple[Lines, ...] = ()
    reads: Lines = ()

    def lines_of(self, step: int, names: Sequence[str] = ()) -> Lines:
        """Return the lines of a step, counted from 1; of 0 those that read a cell which is not kept.

        `names` are those of the steps of its `TilePlan`. One load in a loop is all steps; of several each is
        one step. Empty where that is not known.
        """
        if step == 0:
            return self.reads
        if len(self.loads) == 1:
            return self.loads[0]
        return self.loads[step - 1] if step <= len(self.loads) == len(names) else ()


def tile_steps(kernel: SourceFunction) -> TileSteps:
    """Return the lines of the steps of a kernel."""
    functions = [node for node in ast.walk(kernel.tree) if isinstance(node, ast.FunctionDef)]
    inner = next((one for one in functions if one.name == kernel.name and one.args.args), None)
    if inner is None:
        return TileSteps()
    picture = inner.args.args[0].arg
    arrays = [
        node.targets[0].id
        for node in ast.walk(inner)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _calls(node, _SHARED)
    ]
    reads = {node.lineno for node in _subscripts(inner, ast.Load) if ast.unparse(node.value) == picture}
    loads = []
    for statement in _between_barriers(inner.body):
        if any(ast.unparse(node.value) in arrays for node in _subscripts(statement, ast.Store)):
            load = set(range(_begin(kernel.lines, statement.lineno), (statement.end_lineno or 0) + 1))
            if load & reads:
                loads.append(load)
    first = kernel.first_line - 1
    return TileSteps(
        tuple(tuple(first + line for line in sorted(load)) for load in loads),
        tuple(first + line for line in sorted(reads.difference(*loads))),
    )


def _between_barriers(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the largest statements without a barrier in them."""
    for statement in body:
        inner = getattr(statement, "body", None)
        if inner and _calls(statement, _BARRIER):
            yield from _between_barriers(inner)
        else:
            yield statement


def _calls(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(node, ast.Call) and ast.unparse(node.func) == name for node in ast.walk(statement))


def _subscripts(statement: ast.stmt, context: type) -> Iterator[ast.Subscript]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, context):
            yield node


def _begin(lines: Sequence[str], statement: int) -> int:
    """Return the line of the comment above a statement, with no empty line between; else its own line."""
    depth = len(lines[statement - 1]) - len(lines[statement - 1].lstrip())
    for line in range(statement - 1, 0, -1):
        text = lines[line - 1]
        if not text.strip() or len(text) - len(text.lstrip()) < depth:
            break
        if text[depth:].startswith("#"):
            return line
    return statement
