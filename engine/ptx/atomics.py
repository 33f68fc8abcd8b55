"""Atomic operations: each thread's own, one after another where several meet at one place.

Their order is not defined on a device; here it is that of the threads.
"""

from collections.abc import Callable

import numpy as np

from engine.ptx import floats
from engine.ptx.access import Machine
from engine.ptx.active import Active
from engine.ptx.module import Instruction
from engine.ptx.operands import Operands, Registers, Step
from engine.ptx.requests import accessed, guarded, put, spelled
from engine.ptx.spelling import unknown
from engine.ptx.types import Values

Update = Callable[..., Values]

_UPDATES: dict[str, Update] = {
    "add": np.add,
    "min": lambda old, a: np.minimum(old, a) if old.dtype.kind in "iu" else floats.least(old, a),
    "max": lambda old, a: np.maximum(old, a) if old.dtype.kind in "iu" else floats.greatest(old, a),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, a: a,
    "inc": lambda old, a: np.where(old >= a, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, a: np.where((old == 0) | (old > a), a, old - old.dtype.type(1)),
    "cas": lambda old, a, b: np.where(old == a, b, old),
}


def atomic_step(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make an `atom`, which gives what was there before, or a `red`, which does not."""
    words = [word for word in instruction.modifiers if word not in _UPDATES and word != "noftz"]
    names = [word for word in instruction.modifiers if word in _UPDATES]
    if len(names) != 1:
        raise unknown(instruction)
    space, count, dtype = spelled(Instruction("", tuple(words), (), None, instruction.line))
    if count != 1:
        raise unknown(instruction)
    (name,) = names
    gives = instruction.name == "atom"
    address, *given = instruction.operands[gives:]
    source, _ = operands.address(address)
    parts = [operands.source(one, dtype) for one in given]
    target = instruction.operands[0] if gives else "_"
    at = operands.register(target, instruction) if target != "_" else None
    choose, update = guarded(instruction, operands), _UPDATES[name]

    def step(values: Registers, active: Active, machine: Machine) -> None:
        addresses, part, chosen = choose(source, values, active, machine)
        if part is None:
            return
        stored = [np.broadcast_to(one(values, active, machine), (active.count,)) for one in parts]
        if chosen is not None:
            stored = [one[chosen] for one in stored]
        before = np.zeros(part.count, dtype)
        # What an exchange finds it mostly drops.
        how = {"atomic": True, "reads": name != "exch"}
        for place in accessed(
            machine, instruction, number, "atomics", space, addresses, dtype.itemsize, part, **how
        ):
            flat = np.broadcast_to(place.flat, (place.active.count,)) // dtype.itemsize
            own = stored if place.chosen is None else [one[place.chosen] for one in stored]
            found = _updated(place.segment.view(dtype), flat, own, name, update)
            before[slice(None) if place.chosen is None else place.chosen] = found
        if at is not None:
            put(values, at, before, operands.width(at), active, chosen)

    return step


def _updated(
    view: np.ndarray, places: np.ndarray, given: list[np.ndarray], name: str, update: Update
) -> np.ndarray:
    """Update places one thread after another; return what each thread found."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(is_first)
    found = np.empty(len(places), view.dtype)
    if name == "add" and view.dtype.kind in "iu":
        amounts = given[0][order]
        totals = np.cumsum(amounts, dtype=view.dtype)
        before = totals - amounts
        group = np.cumsum(is_first) - 1
        found[order] = view[ordered] + (before - before[starts][group])
        np.add.at(view, places, given[0])
        return found
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    for turn in range(int(rank.max()) + 1):
        chosen = order[rank == turn]
        at = places[chosen]
        found[chosen] = view[at]
        view[at] = update(view[at], *(one[chosen] for one in given))
    return found
