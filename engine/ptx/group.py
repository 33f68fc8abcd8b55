"""Threads that are at one place, with their registers, and what an instruction's operands are for them.

A register holds an array with a value for each thread, or one NumPy scalar where all threads have the same:
what a kernel computes of its parameters alone is computed once.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.arithmetic import U32, U64, Values, as_type, extended
from engine.ptx.kernel import Kernel
from engine.ptx.machine import SPECIAL, Machine
from engine.ptx.memory import WARP, Active
from engine.ptx.module import PtxError, address_of, literal

Registers = list[Any]


class Group:
    """Threads at one place, their registers, and the machine that they run on."""

    __slots__ = ("active", "machine", "values")

    def __init__(self, machine: Machine, active: Active, values: Registers) -> None:
        self.machine, self.active, self.values = machine, active, values

    def some(self, at: NDArray[np.intp], registers: Collection[int]) -> "Group":
        """Return the threads at some places, with these of their registers."""
        values = list(self.machine.kernel.zeros)
        for number in registers:
            value = self.values[number]
            values[number] = value if value.ndim == 0 else value[at]
        return Group(self.machine, self.active.some(at), values)

    def put(self, registers: Iterable[int], values: Iterable[Values]) -> None:
        """Give registers values, widened to what these hold."""
        zeros = self.machine.kernel.zeros
        for number, value in zip(registers, values, strict=False):
            self.values[number] = extended(value, zeros[number].itemsize)


Step = Callable[[Group], None]
"""What one instruction does."""


def joined(groups: list[Group], registers: Collection[int], known: dict[int, Active]) -> Group:
    """Return several groups at one place as one; `known` has threads that were together, by their number."""
    if len(groups) == 1:
        return groups[0]
    machine = groups[0].machine
    slots = np.concatenate([one.active.slots for one in groups])
    order = np.argsort(slots, kind="stable")
    slots = slots[order]
    active = known.get(len(slots))
    if active is None or not np.array_equal(active.slots, slots):
        active = known[len(slots)] = Active(slots, machine.row)
    values = list(machine.kernel.zeros)
    for number in registers:
        values[number] = _joined([one.values[number] for one in groups], groups, order)
    return Group(machine, active, values)


def _joined(parts: list[Any], groups: list[Group], order: NDArray[np.intp]) -> Any:
    """Return a register of several groups, in the order of their threads; a scalar where all agree."""
    first = parts[0]
    if all(one is first for one in parts) and first.ndim == 0:
        return first
    alike = [as_type(one, first.dtype) for one in parts]
    if all(one.ndim == 0 for one in alike) and all(one.tobytes() == first.tobytes() for one in alike):
        return first
    whole = [np.broadcast_to(one, group.active.count) for one, group in zip(alike, groups, strict=True)]
    return np.concatenate(whole)[order]


Source = Callable[[Group], Values]
_OF_THREE = "%tid", "%ntid", "%ctaid", "%nctaid"


def registers_of(kernel: Kernel, names: list[str]) -> list[int]:
    """Return the numbers of registers that are written."""
    for name in names:
        if name not in kernel.registers:
            raise PtxError(f"the operand {name}", "it is no register")
    return [kernel.registers[name] for name in names]


def source_of(kernel: Kernel, text: str, dtype: np.dtype) -> Source:
    """Return where an operand's values come from, read as a type."""
    if text.startswith("!"):
        own = source_of(kernel, text[1:].strip(), dtype)
        return lambda group: ~own(group)
    if text in kernel.registers:
        at = kernel.registers[text]

        def value(group: Group) -> Values:
            found = group.values[at]
            return found if found.dtype is dtype else as_type(found, dtype)

        return value
    register, _, axis = text.partition(".")
    if register in SPECIAL and axis in (("x", "y", "z") if register in _OF_THREE else ("",)):
        return lambda group: as_type(group.machine.special(text, group.active), dtype)
    if text.startswith("%"):
        raise PtxError(f"the special register {text}", "its value is not the kernel's to use")
    symbol, _, shift = text.partition("+")
    if symbol in kernel.addresses:
        constant = np.uint64(kernel.addresses[symbol] + int(shift or "0", 0)).astype(dtype)
    else:
        constant = dtype.type(WARP) if text == "WARP_SZ" else literal(text, dtype)
    return lambda group: constant


def address_source(kernel: Kernel, text: str) -> Source:
    """Return where an address comes from, as uint64."""
    name, by = address_of(text)
    # Within a register of 32 bits an address wraps.
    is_short = name in kernel.registers and kernel.zeros[kernel.registers[name]].itemsize == 4
    own = U32 if is_short else U64
    base, shift = source_of(kernel, name, own), own.type(by % (1 << 8 * own.itemsize))
    if not by and own is U64:
        return base
    return lambda group: (base(group) + shift).astype(U64, copy=False)
