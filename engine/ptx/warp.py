"""Instructions that a warp executes together: shuffles, votes, reductions, matches and tensor-core products.

Lanes of a warp exchange values in arrays of shape (warps, 32), zero for lanes that take no part. A lane that
the mask names and that does not take part is reported. Source: PTX ISA 9.0, sections 9.7.9.6 (`shfl.sync`),
9.7.13 (votes, `redux.sync`) and 9.7.15.5 (`mma`: which lane holds which element).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.ptx.active import WARP
from engine.ptx.group import Group
from engine.ptx.module import Instruction
from engine.ptx.rules import Row, Rule
from engine.ptx.types import BITWISE, BOOL, DTYPES, S32, U32, Values

Lanes = np.ndarray
_LANE = np.arange(WARP)


class _Warps(NamedTuple):
    """The warps of threads at one place: which lanes are here, and which the mask names of these."""

    here: Lanes
    counted: Lanes
    report: Callable[[Lanes, str], None]


def together(instruction: Instruction, rule: Rule, group: Group, *values: Values) -> tuple[Values, ...]:
    """Return what lanes that bring values get; the last one is the mask where one is."""
    machine, active = group.machine, group.active
    rows = np.repeat(np.arange(active.warps), active.threads_of_warps)
    lanes = active.slots & (WARP - 1)

    def spread(found: Values, dtype: np.dtype) -> Lanes:
        whole: Lanes = np.zeros((active.warps, WARP), dtype)
        whole[rows, lanes] = found
        return whole

    def report(bad: Lanes, message: str) -> None:
        if machine.checks and bad.any():
            slots = active.slots[np.broadcast_to(bad, here.shape)[rows, lanes]]
            machine.report("barrier", (instruction.line,), slots[0], message)

    here = counted = spread(np.True_, BOOL)
    given = [spread(*pair) for pair in zip(values, rule.sources, strict=True)]
    if instruction.name in _MASKED:
        masks = given.pop().max(axis=1)
        named = (masks[:, None] >> _LANE.astype(U32)) & np.uint32(1) == 1
        missing = (named & ~here).any(1, keepdims=True)
        report(missing, f"a lane that the mask names does not take part in {instruction.name}.sync")
        counted = named & here
    found = rule.compute(_Warps(here, counted, report), *given)
    return tuple(np.broadcast_to(one, here.shape)[rows, lanes] for one in found)


def _bits(lanes: Lanes) -> Lanes:
    """Return the bits of 32 lanes, along the last axis, as one number."""
    found: Lanes = (lanes << _LANE).sum(-1).astype(U32)
    return found


def _shuffle(mode: str, warps: _Warps, given: Lanes, by: Lanes, clamp: Lanes) -> Sequence[Lanes]:
    b, c = (by & np.uint32(31)).astype(np.int64), clamp.astype(np.int64)
    segment, limit = c >> 8 & 31, c & 31
    highest = (_LANE & segment) | (limit & ~segment)
    goals = {"up": _LANE - b, "down": _LANE + b, "bfly": _LANE ^ b, "idx": (_LANE & segment) | (b & ~segment)}
    goal = goals[mode]
    inside = goal >= highest if mode == "up" else goal <= highest
    goal = np.where(inside, goal, _LANE) & 31
    row = np.arange(len(given))[:, None]
    absent = inside & ~warps.here[row, goal] & warps.here
    warps.report(absent, "a lane reads the register of a lane that takes no part in the shuffle")
    return given[row, goal], inside


def _vote(mode: str, warps: _Warps, holds: Lanes) -> Sequence[Lanes]:
    yes = holds & warps.counted
    every, some = (yes == warps.counted).all(1), yes.any(1)
    found = {"all": every, "any": some, "uni": every | ~some, "ballot": _bits(yes)}[mode]
    return (found[:, None],)


_REDUCTIONS: dict[str, Any] = {"add": np.add, "min": np.minimum, "max": np.maximum, **BITWISE}


def _reduce(name: str, warps: _Warps, given: Lanes) -> Sequence[Lanes]:
    dtype, info = given.dtype, np.iinfo(given.dtype)
    neutral = {"min": info.max, "max": info.min, "and": ~dtype.type(0)}.get(name, 0)
    counted = np.where(warps.counted, given, dtype.type(neutral))
    return (_REDUCTIONS[name].reduce(counted, axis=1, dtype=dtype, keepdims=True),)


def _match(warps: _Warps, given: Lanes) -> Sequence[Lanes]:
    same = given[:, :, None] == given[:, None, :]
    return (_bits(same & warps.counted[:, None, :]),)


def _matrix_product(left_kind: str, right_kind: str, warps: _Warps, *given: Lanes) -> Sequence[Lanes]:
    """Return the product of bytes `mma.sync.m16n8k32`: D = A B + C, rows of A by columns of B.

    Of lane l, group g = l / 4 and place t = l mod 4: A's registers have rows g, g + 8, g, g + 8 and columns
    from 4 t, the last two from 16 + 4 t; B's column g and rows from 4 t and 16 + 4 t; C and D rows g, g,
    g + 8, g + 8 and columns 2 t, 2 t + 1, twice.
    """
    group, place, cells = _LANE // 4, _LANE % 4, np.arange(4)

    def parts_of(lanes: Lanes, kind: str) -> Lanes:
        """Return the 4 bytes of registers as integers along a new last axis."""
        return lanes.view(DTYPES[kind]).reshape(*lanes.shape, 4).astype(np.int32)

    message = "lanes of the warp do not take part in a product of matrices"
    warps.report(np.asarray(~warps.here.all(1, keepdims=True)), message)
    # Sums of 32 products of bytes are exact in float64, whose products a library computes.
    left, right = np.zeros((len(warps.here), 16, 32)), np.zeros((len(warps.here), 32, 8))
    for one, lanes in enumerate(given[:4]):
        columns = (16 * (one // 2) + 4 * place)[:, None] + cells
        left[:, (group + 8 * (one % 2))[:, None], columns] = parts_of(lanes, left_kind)
    for one, lanes in enumerate(given[4:6]):
        right[:, (16 * one + 4 * place)[:, None] + cells, group[:, None]] = parts_of(lanes, right_kind)
    product = (left @ right).astype(np.int64)
    return [
        (product[:, group + 8 * (one // 2), 2 * place + one % 2] + lanes).astype(S32)
        for one, lanes in enumerate(given[6:])
    ]


_SHAPE = r"\.m16n8k32\.row\.col"
LANE_ROWS = (
    Row("shfl", r"sync\.(up|down|bfly|idx)", "I:IUUU", _shuffle, lanes=True),
    Row("vote", r"sync\.(all|any|uni|ballot)", "T:PU", _vote, lanes=True),
    Row("redux", rf"sync\.({'|'.join(_REDUCTIONS)})", "I:IU", _reduce, lanes=True),
    Row("match", r"any\.sync", "U:IU", _match, lanes=True),
    Row("activemask", "", "I:", lambda warps: (_bits(warps.here)[:, None],), lanes=True),
    Row("mma", rf"sync\.aligned{_SHAPE}\.s32\.([su]8)\.([su]8)", "T:UUUUUUTTTT", _matrix_product, lanes=True),
)
_MASKED = ("shfl", "vote", "redux", "match")
