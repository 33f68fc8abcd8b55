"""Instructions that a warp executes together: shuffles, votes, reductions, matches and tensor-core products.

Lanes of a warp exchange values in an array of shape (warps, 32). A lane that the mask names and that does not
take part is reported. Source: PTX ISA 9.0, sections 9.7.9.6 (`shfl.sync`), 9.7.13 (votes, `redux.sync`) and
9.7.15.5 (`mma`: which lane holds which element).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ptx.access import Machine
from engine.ptx.active import WARP, Active
from engine.ptx.module import Instruction, listed
from engine.ptx.operands import Operands, Registers, Step
from engine.ptx.spelling import BOOL, S32, U32, unknown
from engine.ptx.types import DTYPES, Values, extended

Lanes = np.ndarray


class _Warps:
    """The lanes of the warps of some threads."""

    def __init__(self, active: Active) -> None:
        self.rows, self.lanes = active.rows(5), active.slots & (WARP - 1)
        self.count = active.warps
        self.is_here = np.zeros((self.count, WARP), bool)
        self.is_here[self.rows, self.lanes] = True

    def spread(self, values: Values, dtype: np.dtype) -> Lanes:
        """Return values of threads as an array of shape (warps, 32), zero for lanes that take no part."""
        found: Lanes = np.zeros((self.count, WARP), dtype)
        found[self.rows, self.lanes] = values
        return found

    def gathered(self, lanes: Lanes) -> Values:
        """Return the values of the threads."""
        found: Lanes = lanes[self.rows, self.lanes]
        return found


def _checked(
    machine: Machine, instruction: Instruction, active: Active, warps: _Warps, mask: Values
) -> Lanes:
    """Return which lanes each lane's mask names, and report those that are named and not here."""
    masks = warps.spread(mask, U32)
    first = np.max(np.where(warps.is_here, masks, 0), axis=1)
    named: Lanes = (first[:, None] >> np.arange(WARP, dtype=np.uint32)) & np.uint32(1) == 1
    if machine.checks:
        missing: Lanes = (named & ~warps.is_here).max(1)
        if missing.any():
            message = f"a lane that the mask names does not take part in {instruction.name}.sync"
            machine.report("barrier", instruction, active, missing[warps.rows], message)
    return named


def _shuffle(instruction: Instruction, number: int, operands: Operands) -> Step:
    mode = next((one for one in ("up", "down", "bfly", "idx") if one in instruction.modifiers), "")
    if not mode or "sync" not in instruction.modifiers or instruction.guard is not None:
        raise unknown(instruction)
    names = [one.strip() for one in instruction.operands[0].split("|")]
    targets = [operands.register(name, instruction) for name in names]
    own, by, clamp, mask = (operands.source(text, U32) for text in instruction.operands[1:5])

    def step(values: Registers, active: Active, machine: Machine) -> None:
        warps = _Warps(active)
        _checked(machine, instruction, active, warps, mask(values, active, machine))
        lane = np.arange(WARP)
        given = warps.spread(own(values, active, machine), U32)
        b = (warps.spread(by(values, active, machine), U32) & np.uint32(31)).astype(np.int64)
        c = warps.spread(clamp(values, active, machine), U32).astype(np.int64)
        segment, limit = c >> 8 & 31, c & 31
        highest = (lane & segment) | (limit & ~segment)
        if mode == "up":
            goal = lane - b
            inside = goal >= highest
        elif mode == "down":
            goal = lane + b
            inside = goal <= highest
        elif mode == "bfly":
            goal = lane ^ b
            inside = goal <= highest
        else:
            goal = (lane & segment) | (b & ~segment)
            inside = goal <= highest
        goal = np.where(inside, goal, lane)
        row = np.arange(warps.count)[:, None]
        found = given[row, goal & 31]
        if machine.checks:
            absent = inside & ~warps.is_here[row, goal & 31] & warps.is_here
            if absent.any():
                message = "a lane reads the register of a lane that takes no part in the shuffle"
                machine.report("barrier", instruction, active, warps.gathered(absent), message)
        values[targets[0]] = warps.gathered(found)
        if len(targets) > 1:
            values[targets[1]] = warps.gathered(np.broadcast_to(inside, found.shape))

    return step


def _vote(instruction: Instruction, number: int, operands: Operands) -> Step:
    mode = next((one for one in ("all", "any", "uni", "ballot") if one in instruction.modifiers), "")
    if not mode or "sync" not in instruction.modifiers or instruction.guard is not None:
        raise unknown(instruction)
    at = operands.register(instruction.operands[0], instruction)
    holds, mask = (
        operands.source(instruction.operands[1], BOOL),
        operands.source(instruction.operands[2], U32),
    )

    def step(values: Registers, active: Active, machine: Machine) -> None:
        warps = _Warps(active)
        named = _checked(machine, instruction, active, warps, mask(values, active, machine))
        yes = warps.spread(holds(values, active, machine), BOOL)
        counted = named & warps.is_here
        every, some = (yes | ~counted).min(1), (yes & counted).max(1)
        if mode == "ballot":
            bits = ((yes & counted) << np.arange(WARP, dtype=np.int64)).sum(1).astype(U32)
            values[at] = bits[warps.rows]
        else:
            of_warp: Lanes = {"all": every, "any": some, "uni": every | ~some}[mode]
            values[at] = of_warp[warps.rows]

    return step


_REDUCTIONS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _reduce(instruction: Instruction, number: int, operands: Operands) -> Step:
    name = next((one for one in _REDUCTIONS if one in instruction.modifiers), "")
    dtype = DTYPES.get(instruction.modifiers[-1])
    if not name or dtype is None or dtype.kind not in "iu" or instruction.guard is not None:
        raise unknown(instruction)
    at = operands.register(instruction.operands[0], instruction)
    own, mask = operands.source(instruction.operands[1], dtype), operands.source(instruction.operands[2], U32)
    least, most = (int(getattr(np.iinfo(dtype.name), end)) for end in ("min", "max"))
    every_bit = -1 if dtype.kind == "i" else most
    neutral = {"min": most, "max": least, "and": every_bit}.get(name, 0)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        warps = _Warps(active)
        named = _checked(machine, instruction, active, warps, mask(values, active, machine))
        given = np.where(
            named & warps.is_here, warps.spread(own(values, active, machine), dtype), dtype.type(neutral)
        )
        values[at] = _REDUCTIONS[name].reduce(given, axis=1, dtype=dtype)[warps.rows]

    return step


def _match(instruction: Instruction, number: int, operands: Operands) -> Step:
    if "any" not in instruction.modifiers or instruction.guard is not None:
        raise unknown(instruction)
    dtype = DTYPES[instruction.modifiers[-1]]
    at = operands.register(instruction.operands[0], instruction)
    own, mask = operands.source(instruction.operands[1], dtype), operands.source(instruction.operands[2], U32)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        warps = _Warps(active)
        named = _checked(machine, instruction, active, warps, mask(values, active, machine))
        given = warps.spread(own(values, active, machine), dtype)
        same = (given[:, :, None] == given[:, None, :]) & (named & warps.is_here)[:, None, :]
        values[at] = warps.gathered((same << np.arange(WARP, dtype=np.int64)).sum(2).astype(U32))

    return step


def _active_mask(instruction: Instruction, number: int, operands: Operands) -> Step:
    at = operands.register(instruction.operands[0], instruction)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        warps = _Warps(active)
        values[at] = (warps.is_here << np.arange(WARP, dtype=np.int64)).sum(1).astype(U32)[warps.rows]

    return step


def _bytes(words: Lanes, dtype: np.dtype) -> Lanes:
    """Return the 4 bytes of 32-bit registers as integers along a new last axis."""
    return np.ascontiguousarray(words).view(dtype).reshape(*words.shape, 4).astype(np.int32)


def _matrix_product(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make `mma.sync.m16n8k32` of bytes: D = A B + C, rows of A by columns of B.

    Of lane l, group g = l / 4 and place t = l mod 4: A's registers have rows g, g + 8, g, g + 8 and columns
    from 4 t, the last two from 16 + 4 t; B's column g and rows from 4 t and 16 + 4 t; C and D rows g, g,
    g + 8, g + 8 and columns 2 t, 2 t + 1, twice.
    """
    words = instruction.modifiers
    shape = "sync", "aligned", "m16n8k32", "row", "col", "s32"
    if words[:6] != shape or words[8:] != ("s32",) or instruction.guard is not None:
        raise unknown(instruction)
    kinds = {"s8": np.dtype(np.int8), "u8": np.dtype(np.uint8)}
    if words[6] not in kinds or words[7] not in kinds:
        raise unknown(instruction)
    a_kind, b_kind = kinds[words[6]], kinds[words[7]]
    lists = [listed(text) for text in instruction.operands]
    targets = [operands.register(name, instruction) for name in lists[0]]
    a, b = ([operands.source(name, U32) for name in names] for names in lists[1:3])
    c = [operands.source(name, S32) for name in lists[3]]
    lane = np.arange(WARP)
    group, place = lane // 4, lane % 4

    def step(values: Registers, active: Active, machine: Machine) -> None:
        warps = _Warps(active)
        if machine.checks and not warps.is_here.all():
            missing: Lanes = ~warps.is_here.min(1)
            message = "lanes of the warp do not take part in a product of matrices"
            machine.report("barrier", instruction, active, missing[warps.rows], message)
        left = np.zeros((warps.count, 16, 32), np.int32)
        right = np.zeros((warps.count, 32, 8), np.int32)
        cells = np.arange(4)
        for one, source in enumerate(a):
            own = _bytes(warps.spread(source(values, active, machine), U32), a_kind)
            columns = (16 * (one // 2) + 4 * place)[:, None] + cells
            left[:, (group + 8 * (one % 2))[:, None], columns] = own
        for one, source in enumerate(b):
            own = _bytes(warps.spread(source(values, active, machine), U32), b_kind)
            right[:, (16 * one + 4 * place)[:, None] + cells, group[:, None]] = own
        # Sums of 32 products of bytes are exact in float64, whose products a library computes.
        product = (left.astype(np.float64) @ right.astype(np.float64)).astype(np.int64)
        for one, source in enumerate(c):
            row, column = group + 8 * (one // 2), 2 * place + one % 2
            total = product[:, row, column] + warps.spread(source(values, active, machine), S32)
            values[targets[one]] = extended(warps.gathered(total.astype(np.int32)), 4)

    return step


WARP_STEPS: dict[str, Callable[[Instruction, int, Operands], Step]] = {
    "shfl": _shuffle,
    "vote": _vote,
    "redux": _reduce,
    "match": _match,
    "activemask": _active_mask,
    "mma": _matrix_product,
}
