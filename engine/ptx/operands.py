"""Where an instruction's operands come from: registers, numbers, special registers, variables."""

from collections.abc import Callable

import numpy as np

from engine.ptx.active import WARP
from engine.ptx.group import Group
from engine.ptx.kernel import Kernel
from engine.ptx.machine import SPECIAL
from engine.ptx.module import Guard, Instruction, PtxError, address_of, number
from engine.ptx.types import U32, U64, Values, as_type

Source = Callable[[Group], Values]


class Operands:
    """Reads the operands of one kernel's instructions."""

    def __init__(self, kernel: Kernel) -> None:
        self._registers = kernel.registers
        self._widths: list[int] = [one.dtype.itemsize for one in kernel.zeros]
        self._addresses = kernel.addresses

    def register(self, name: str, instruction: Instruction) -> int:
        """Return the number of a register that is written."""
        if name not in self._registers:
            raise PtxError(f"the instruction {instruction.text}", f"{name} is no register")
        return self._registers[name]

    def width(self, register: int) -> int:
        """Return the bytes of a register."""
        return self._widths[register]

    def predicate(self, guard: Guard) -> Source:
        """Return where a guard's condition comes from."""
        at = self._registers[guard.register]
        if guard.negated:
            return lambda group: ~group.values[at]
        return lambda group: group.values[at]

    def source(self, text: str, dtype: np.dtype) -> Source:
        """Return where an operand's values come from, read as a type."""
        if dtype.kind == "b" and text.startswith("!"):
            return self.predicate(Guard(text[1:].strip(), True))
        if text in self._registers:
            at = self._registers[text]

            def value(group: Group) -> Values:
                found = group.values[at]
                return found if found.dtype is dtype else as_type(found, dtype)

            return value
        register, _, axis = text.partition(".")
        if register in SPECIAL and axis in "xyz":
            return lambda group: as_type(group.machine.special(text, group.active), dtype)
        if text == "WARP_SZ":
            return _constant(dtype.type(WARP))
        if text.startswith("%"):
            raise PtxError(f"the special register {text}", "its value is not the kernel's to use")
        symbol, _, shift = text.partition("+")
        if symbol in self._addresses:
            return _constant(np.uint64(self._addresses[symbol] + int(shift or "0", 0)).astype(dtype))
        return _constant(number(text, dtype))

    def address(self, text: str) -> Source:
        """Return where an address comes from, as uint64."""
        name, by = address_of(text)
        # Within a register of 32 bits an address wraps.
        own = U32 if name in self._registers and self._widths[self._registers[name]] == 4 else U64
        base, shift = self.source(name, own), own.type(by % (1 << 8 * own.itemsize))
        if not by and own is U64:
            return base
        return lambda group: (base(group) + shift).astype(U64, copy=False)


def _constant(value: Values) -> Source:
    return lambda group: value
