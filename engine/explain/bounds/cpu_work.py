"""What a CPU variant must do, pass after pass: multiply-adds, loads, stores, instructions. No Numba.

How often loops run follows from the problem; what a round of them is, from the compiled code
(`engine.explain.bounds.machine_loops`) or, for loads and stores, from how they are emitted. Everything is
counted too low rather than too high: edges, rows that two bands share, and what lies around the loops are
left out.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.explain.bounds.machine_loops import Function, Instruction, Loop
from engine.variants.cpu.box import BoxSums
from engine.variants.cpu.register_tiles import (
    ALONG_VECTORS,
    MOST_ROWS,
    PAIRS,
    RESULTS_AT_ONCE,
    SHARES_SAMPLES,
    VECTOR,
)
from engine.variants.cpu.separable_serial import SeparableSerial
from engine.variants.cpu.serial import Serial
from engine.variants.cpu.streamed_bands import StreamedBands
from engine.variants.cpu.two_passes import TwoPasses
from engine.work.filtering.problem import Problem

Functions = Mapping[str, Function]
Counted = Callable[[Function, Loop], float]


@dataclass(frozen=True, kw_only=True)
class CpuPass:
    """What one pass over the picture does for each result; 0 where it is not known, or there is none."""

    multiply_adds: float = 0.0
    vector_operations: float = 0.0  # the rest for vectors of results, each of VECTOR
    vector_loads: float = 0.0
    misaligned_loads: float = 0.0
    vector_stores: float = 0.0
    instructions: float = 0.0


@dataclass(frozen=True)
class CpuWork:
    """What a variant does for a problem: its passes, one after the other, and the threads that share them."""

    passes: tuple[CpuPass, ...]
    threads: int
    whole_vectors: bool  # else one sample at a time


def work_of(prepared: Any, problem: Problem, functions: Functions) -> CpuWork | None:
    """Return the work of a prepared variant; None for one that is not compiled by us.

    `functions` are those of its compiled code; empty where it cannot be read.
    """
    for kind, passes in _PASSES.items():
        if isinstance(prepared, kind):
            threads = getattr(prepared, "workers", 1)
            whole_vectors = kind not in (Serial, SeparableSerial)
            return CpuWork(tuple(passes(prepared, problem, functions)), threads, whole_vectors)
    return None


def issued(function: Function, loop: Loop) -> float:
    """Return the fewest instructions that a round issues."""
    return function.least_issued(loop)


def vector_operations(function: Function, loop: Loop) -> float:
    """Return the fewest computations of a round with whole vectors; shorter ones count a half."""
    return function.least(loop, lambda one: one.vector_share(VECTOR))


def multiply_adds(function: Function, loop: Loop) -> float:
    """Return the most multiply-adds of a round beside the loops within it."""
    return function.most(loop, lambda one: one.is_multiply_add)


def hot_loops(function: Function) -> list[Loop]:
    """Return the innermost loops that multiply."""
    return [loop for loop in function.loops if not loop.inner and multiply_adds(function, loop)]


def _serial(prepared: Serial, problem: Problem, functions: Functions) -> Iterator[CpuPass]:
    rows, columns = problem.mask_shape
    yield _textbook(functions, "correlate_serial", (rows * columns, rows, 1))


def _separable_serial(prepared: SeparableSerial, problem: Problem, functions: Functions) -> Iterator[CpuPass]:
    rows, columns = problem.mask_shape
    yield _textbook(functions, "along_rows_serial", (columns, 1))
    yield _textbook(functions, "down_columns_serial", (rows, 1))


def _textbook(functions: Functions, name: str, runs: tuple[int, ...]) -> CpuPass:
    """Return a pass of loops within loops; `runs`: how often each runs for a result, the innermost first."""
    function = next((one for key, one in functions.items() if name in key and ".entry" not in key), None)
    if function is None:
        return CpuPass(multiply_adds=runs[0])
    outside = {inner: loop for loop in function.loops for inner in loop.inner}
    found = []
    for loop in hot_loops(function):
        # The compiler may have put several taps into one round.
        total = runs[0] * issued(function, loop) / multiply_adds(function, loop)
        around = outside.get(loop)
        for count in runs[1:]:
            total += count * issued(function, around) if around else 0
            around = outside.get(around) if around else None
        found.append(total)
    return CpuPass(multiply_adds=runs[0], instructions=min(found, default=0.0))


def _streamed(prepared: StreamedBands, problem: Problem, functions: Functions) -> Iterator[CpuPass]:
    rows, columns = problem.mask_shape
    pairs, parts = prepared.pairs, [rows]
    each = [rows + columns - pairs]
    if prepared.row_factor is None:
        parts = list(_parts(rows))
        each = [part * columns for part in parts]
    nests = [
        partial(_nest, functions.get(f"sums_of_{part}_rows"), made, pairs, columns - 2 * pairs)
        for part, made in zip(parts, each, strict=True)
    ]
    # Integers are loaded in fewer bytes.
    loads = columns * len(parts) if problem.dtype == "float32" else 0
    yield CpuPass(
        multiply_adds=sum(each),
        vector_operations=sum(nest(vector_operations) for nest in nests),
        instructions=sum(nest(issued) for nest in nests),
        **_loads(loads, problem.channels),
    )


def _parts(rows: int) -> Iterator[int]:
    """Yield the mask rows that are taken at once: all, or equal parts."""
    while rows:
        part = -(-rows // -(-rows // MOST_ROWS))
        yield part
        rows -= part


def _nest(function: Function | None, made: int, pairs: int, taps: int, counted: Counted) -> float:
    """Return the least that is counted for a vector of results, of which each takes `made` multiply-adds.

    Those are of a loop over input rows, and of a round for each tap, and for each pair of taps, in the loops
    within it: that of pairs has more in it. There are several such nests, for one vector or for some at once;
    the least counts.
    """
    found = []
    for loop in function.loops if function else ():
        assert function is not None
        inner = [one for one in loop.inner if multiply_adds(function, one)]
        within = max((multiply_adds(function, one) for one in inner), default=0)
        vectors = (multiply_adds(function, loop) + (pairs + taps) * within) / made
        if vectors >= 1 and vectors == int(vectors):
            each = [counted(function, one) for one in inner] or [0.0]
            total = counted(function, loop) + pairs * max(each) + taps * min(each)
            found.append(total / vectors)
    return min(found, default=0.0)


def _two_passes(prepared: TwoPasses, problem: Problem, functions: Functions) -> Iterator[CpuPass]:
    rows, columns = problem.mask_shape
    folds = prepared.mirrored and problem.dtype != "float32" and not SHARES_SAMPLES
    taps = -(-columns // 2) if folds else columns
    loads = float(columns)
    if PAIRS:
        loads *= (ALONG_VECTORS + 1) / (2 * ALONG_VECTORS)
    elif SHARES_SAMPLES and columns > VECTOR and problem.channels in (1, 3):
        loads *= (ALONG_VECTORS + problem.channels) / (2 * ALONG_VECTORS)
    function = next((one for name, one in functions.items() if "two_passes_of_bands" in name), None)
    instructions, operations = (
        _per_multiply_add(function, counted) for counted in (issued, vector_operations)
    )
    yield CpuPass(
        multiply_adds=taps,
        vector_operations=operations * taps,
        instructions=instructions * taps,
        **_loads(loads, problem.channels * (2 if PAIRS else 1)),
    )
    at_once = RESULTS_AT_ONCE if rows >= RESULTS_AT_ONCE else 1
    yield CpuPass(
        multiply_adds=rows,
        vector_operations=operations * rows,
        instructions=instructions * rows,
        vector_loads=(rows + at_once - 1) / at_once,
    )


def _per_multiply_add(function: Function | None, counted: Counted) -> float:
    """Return the least that a loop has of something for each of its multiply-adds."""
    if function is None:
        return 0.0
    loops = hot_loops(function)
    return min((counted(function, loop) / multiply_adds(function, loop) for loop in loops), default=0.0)


def _loads(loads: float, step: int) -> dict[str, float]:
    """Return loads for neighbouring results, `step` floats apart, by whether they can be aligned."""
    aligned = math.gcd(step, VECTOR) / VECTOR
    return {"vector_loads": loads * aligned, "misaligned_loads": loads * (1 - aligned)}


def _box(prepared: BoxSums, problem: Problem, functions: Functions) -> Iterator[CpuPass]:
    """As `box_code` has them: a row is taken in, windows are summed up in passes along it."""
    rows, columns = problem.mask_shape
    function = next((one for name, one in functions.items() if "box_sums_of_bands" in name), None)
    each = _per_store(function)

    def one_pass(stores: float, loads: float, misaligned: float, operations: float) -> CpuPass:
        return CpuPass(
            vector_stores=stores,
            vector_loads=loads,
            misaligned_loads=misaligned,
            vector_operations=operations,
            instructions=each * stores,
        )

    samples = float(problem.dtype == "float32")
    # The first row of a segment is not added to one before it.
    yield one_pass(3, samples + 1 + (1 - 1 / rows), 0, 3)
    # Once for each segment, but for two of its rows.
    added = max(0, rows - 2) / rows
    yield one_pass(added, 2 * added, 0, added)
    step, covered, left = problem.channels, 0, columns
    while left:
        terms = left % 4
        begins = step == problem.channels
        if terms or begins:
            apart = sum((covered + step * term) % VECTOR != 0 for term in range(terms))
            yield one_pass(1, terms - apart + (not begins), apart, terms)
        covered += terms * step
        left //= 4
        if left:
            apart = sum(step * term % VECTOR != 0 for term in range(4))
            yield one_pass(1, 4 - apart, apart, 3)
        step *= 4


def _per_store(function: Function | None) -> float:
    """Return the fewest instructions for each vector that a loop stores."""

    def stores(one: Instruction) -> bool:
        return one.uses(VECTOR) and one.writes_memory

    found: Iterable[float] = ()
    if function:
        counted = ((issued(function, loop), function.most(loop, stores)) for loop in function.loops)
        found = [instructions / count for instructions, count in counted if count]
    return min(found, default=0.0)


_PASSES: dict[type, Callable[[Any, Problem, Functions], Iterator[CpuPass]]] = {
    Serial: _serial,
    SeparableSerial: _separable_serial,
    StreamedBands: _streamed,
    TwoPasses: _two_passes,
    BoxSums: _box,
}
