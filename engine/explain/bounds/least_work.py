"""The least that the warps of a launch must execute: bounds from compiled code and counted requests.

How often warps go through each block of the code is not known, but much of it is. A thread of each warp goes
all the way from the top to an end, and its warp executes every block on that way. What warps execute beside
it, where threads part, is in blocks that they come to. The accesses of each line of the source make as many
requests as were counted, and of an unrolled loop only whole rounds run. Among all that is possible the least
is taken, by a linear program (HiGHS). Warps whose threads part may execute more. Pure functions.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import highspy
import numpy as np
from numpy.typing import NDArray

from engine.explain.bounds.control_flow import (
    CodeBlock,
    CodeLoop,
    blocks_before,
    code_blocks,
    code_loops,
    is_guarded,
)
from engine.explain.code.instruction_classes import InstructionClass
from engine.explain.code.listing import CodeLine, Listing, SourceLine
from engine.explain.counts.accesses import CountedAccesses, LoopRounds

_ACCESSES = {
    ("global", "loads"): InstructionClass.LOAD_GLOBAL,
    ("global", "stores"): InstructionClass.STORE_GLOBAL,
    ("shared", "loads"): InstructionClass.LOAD_SHARED,
    ("shared", "stores"): InstructionClass.STORE_SHARED,
    ("global", "copies"): InstructionClass.COPY,
}
Row = NDArray[np.float64]
Weigh = Callable[[CodeLine], float]


@dataclass(frozen=True, eq=False)
class ExecutedCode:
    """The compiled code of a launch, and what its warps are known to do there."""

    listing: Listing
    counted: CountedAccesses
    warps: int

    @cached_property
    def blocks(self) -> tuple[CodeBlock, ...]:
        """The blocks of the code."""
        return code_blocks(self.listing)

    def least(self, weigh: Weigh) -> float:
        """Return the least sum of the weights of all instructions that the warps execute."""
        if weigh is instruction:
            return self.along(instruction)
        costs = self._costs(weigh)
        # Of most kinds a kernel has no instructions.
        return float(costs @ self._solved(costs)) if costs.any() else 0.0

    @cached_property
    def executions(self) -> Row:
        """How often warps go through each block where the fewest instructions are executed."""
        return self._solved(self._costs(instruction))

    def along(self, weigh: Weigh) -> float:
        """Return the sum of the weights of the instructions that are executed then."""
        return float(self._costs(weigh) @ self.executions)

    def _costs(self, weigh: Weigh) -> Row:
        return np.array([sum(map(weigh, block.instructions)) for block in self.blocks], np.float64)

    def _solved(self, costs: Row) -> Row:
        """Return how often warps go through each block where the costs are least."""
        wanted = self._row(enumerate(costs))
        for rows, limits in self._constraints:
            found = _least(wanted, rows, limits)
            if found is not None:
                return found[: len(self.blocks)]
        raise ArithmeticError(f"no way through {self.listing.kernel}")

    @cached_property
    def _constraints(self) -> list[tuple[Row, Row]]:
        """All that is known, and less of it, for code that the compiler made into something else."""
        flow = [*self._ways(), *self._flow()]
        anchored = [*flow, *self._anchors()]
        known = ([*anchored, *self._loops()], anchored, flow)
        return [(np.array([row for row, _ in one]), np.array([most for _, most in one])) for one in known]

    # Each constraint is a row and what its product with the unknowns is at most. The unknowns are how often
    # warps execute each block, then how often the chosen threads go from a block to a next one.

    @cached_property
    def _steps(self) -> list[tuple[int, int]]:
        return [(at, after) for at, block in enumerate(self.blocks) for after in block.next]

    def _row(self, factors: Iterable[tuple[int, float]]) -> Row:
        row = np.zeros(len(self.blocks) + len(self._steps))
        for unknown, factor in factors:
            row[unknown] += factor
        return row

    @cached_property
    def _before(self) -> list[list[int]]:
        return blocks_before(self.blocks)

    def _ways(self) -> Iterable[tuple[Row, float]]:
        """Yield what is known of one thread of each warp: it leaves each block as often as it comes there."""
        first_step = len(self.blocks)
        steps = [(first_step + number, *step) for number, step in enumerate(self._steps)]
        callers: dict[int, list[int]] = defaultdict(list)
        for at, block in enumerate(self.blocks):
            if block.calls is not None:
                callers[block.calls].append(at)
        for at, block in enumerate(self.blocks):
            # A call comes from a block that the thread comes to, whichever way.
            ends_at = {at, *callers[at]}
            comes = [(unknown, 1.0) for unknown, _, after in steps if after in ends_at]
            begins = float(self.warps) if 0 in ends_at else 0.0
            leaves = [(unknown, 1.0) for unknown, before, _ in steps if before == at]
            yield self._row([(at, -1.0), *comes]), -begins
            more, less = self._row([*comes, *_negative(leaves)]), self._row([*_negative(comes), *leaves])
            yield less, begins
            if not block.is_end:
                yield more, -begins

    def _flow(self) -> Iterable[tuple[Row, float]]:
        """Yield what is known of warps whose threads part: they go on to a next block, and come from one."""
        for at, block in enumerate(self.blocks):
            comes = ((one, -1.0) for one in self._before[at])
            yield self._row([(at, 1.0), *comes]), float(self.warps if at == 0 else 0)
            if not block.is_end:
                yield self._row([(at, 1.0), *((one, -1.0) for one in block.next)]), 0.0

    def _anchors(self) -> Iterable[tuple[Row, float]]:
        requests: dict[tuple[SourceLine, InstructionClass], int] = defaultdict(int)
        for one in self.counted.places:
            if (one.memory, one.kind) in _ACCESSES:
                requests[one.place.line, _ACCESSES[one.memory, one.kind]] += one.requests
        for key, count in requests.items():
            every = self._row((at, len(self._accesses(at, *key))) for at in range(len(self.blocks)))
            certain = self._row(
                (at, sum(not is_guarded(line) for line in self._accesses(at, *key)))
                for at in range(len(self.blocks))
            )
            if every.any():
                yield -every, -float(count)
                yield certain, float(count)
        yield from self._anchors_of_emitted()
        barriers = self._row(
            (at, sum(_is_barrier(line) for line in block.instructions))
            for at, block in enumerate(self.blocks)
        )
        if barriers.any():
            yield -barriers, -float(self.counted.barriers)

    def _anchors_of_emitted(self) -> Iterable[tuple[Row, float]]:
        """Yield what is known of accesses that an emitter makes: they stand at no line of the source."""
        for (memory, kind), instruction_class in _ACCESSES.items():
            placed = sum(
                one.requests for one in self.counted.places if (one.memory, one.kind) == (memory, kind)
            )
            count = self.counted.of(memory, kind).requests
            every = self._row(
                (at, sum(line.kind is instruction_class for line in block.instructions))
                for at, block in enumerate(self.blocks)
            )
            if count > placed and every.any():
                yield -every, -float(count)

    def _accesses(self, block: int, line: SourceLine, kind: InstructionClass) -> list[CodeLine]:
        return [one for one in self.blocks[block].instructions if one.kind is kind and one.source == line]

    def _loops(self) -> Iterable[tuple[Row, float]]:
        """Yield how often the innermost loops go round at most."""
        loops = code_loops(self.blocks)
        for loop in loops:
            if any(other.blocks < loop.blocks for other in loops):
                continue
            entry = [one for one in self._before[loop.first] if one not in loop.blocks]
            # Where it is left from its first block, that runs once more than all others.
            is_left = any(one not in loop.blocks for one in self.blocks[loop.first].next)
            once = float(is_left and len(loop.blocks) > 1)
            depth = sum(other.blocks >= loop.blocks for other in loops)
            for most, at_most in self._rounds(loop, depth):
                yield self._row([(loop.first, 1.0), *((one, -(most + once)) for one in entry)]), 0.0
                if at_most is not None:
                    yield self._row([(loop.first, 1.0), *((one, -once) for one in entry)]), float(at_most)

    def _rounds(self, loop: CodeLoop, depth: int) -> Iterable[tuple[int, int | None]]:
        """Yield how often warps may go round a loop: for each time that they enter it, and in all."""
        unrolled: dict[SourceLine, int] = {}
        for line, kind, source_loop, each_round in self._looped:
            copies = sum(len(self._accesses(at, line, kind)) for at in loop.blocks)
            if copies:
                # A line may have been copied for other reasons: the fewest copies are of the rounds.
                unrolled[source_loop] = min(max(1, copies // each_round), unrolled.get(source_loop, copies))
        for line, times in unrolled.items():
            found = self._source_loops[line]
            outer = self._outer(found)
            same = found.most_rounds if len(found.entries) == 1 else 0
            if times == 1:
                yield found.most_rounds, None
            elif same and times % same == 0 and depth < self._depth(found):
                # All its rounds at once, perhaps within some rounds of the loop around it.
                together = times // same
                yield max(1, outer.most_rounds // together if outer else 1), found.rounds // times
            else:
                whole = [(rounds // times, entries) for rounds, entries in found.entries]
                yield max(most for most, _ in whole), sum(most * entries for most, entries in whole)

    @cached_property
    def _source_loops(self) -> dict[SourceLine, LoopRounds]:
        """Each loop of the source, with the entries from all places that its function is called at."""
        found: dict[SourceLine, LoopRounds] = {}
        for one in self.counted.loops:
            others = found[one.line].entries if one.line in found else ()
            found[one.line] = replace(one, entries=others + one.entries)
        return found

    def _outer(self, loop: LoopRounds) -> LoopRounds | None:
        return self._source_loops.get(loop.outer) if loop.outer else None

    def _depth(self, loop: LoopRounds) -> int:
        outer = self._outer(loop)
        return 1 + (self._depth(outer) if outer else 0)

    @cached_property
    def _looped(self) -> list[tuple[SourceLine, InstructionClass, SourceLine, int]]:
        """The accesses within loops of the source, and how many of them are made in a round."""
        return [
            (one.place.line, _ACCESSES[one.memory, one.kind], one.place.loop, math.ceil(one.per_round))
            for one in self.counted.places
            if one.place.loop is not None and one.per_round and (one.memory, one.kind) in _ACCESSES
        ]


def instruction(line: CodeLine) -> float:
    """Weigh each instruction the same: the sum is how many are issued."""
    return 1.0


def _is_barrier(line: CodeLine) -> bool:
    return line.kind is InstructionClass.BARRIER and line.opcode.lower().startswith("bar.sync")


def _negative(factors: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(unknown, -factor) for unknown, factor in factors]


class _QuietSolver(highspy.Highs):  # type: ignore[misc]
    """A solver that prints nothing: one that is made enables callbacks, and that prints a banner."""

    def enableCallbacks(self) -> None:  # noqa: N802 - the library's name
        self.silent()
        super().enableCallbacks()


def _least(costs: Row, rows: Row, limits: Row) -> Row | None:
    """Return the numbers, none below 0, with the least costs whose products with the rows stay within limits.

    None where there are no such numbers.
    """
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(costs), len(limits)
    program.col_cost_ = costs
    program.col_lower_, program.col_upper_ = np.zeros(len(costs)), np.full(len(costs), highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = np.full(len(limits), -highspy.kHighsInf), limits
    where, which = np.nonzero(rows)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.searchsorted(where, np.arange(len(limits) + 1))
    program.a_matrix_.index_, program.a_matrix_.value_ = which, rows[where, which]
    solver = _QuietSolver()
    solver.passModel(program)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(solver.getSolution().col_value)
