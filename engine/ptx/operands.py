"""Where an instruction's operands come from: registers, numbers, special registers, variables."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ptx.access import Machine
from engine.ptx.active import WARP, Active
from engine.ptx.errors import PtxError
from engine.ptx.flow import registers_in
from engine.ptx.module import Function, Guard, Instruction, Module
from engine.ptx.types import DTYPES, Values, as_type, unsigned

Registers = list[Any]
Source = Callable[[Registers, Active, Machine], Values]
Step = Callable[[Registers, Active, Machine], None]

_ADDRESS = re.compile(r"\[\s*([%$\w~@.]+|\d+)\s*(?:\+\s*(-?\w+))?\s*\]")
_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
SPECIAL = (
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%lanemask_eq",
    "%lanemask_lt",
    "%lanemask_le",
    "%lanemask_gt",
    "%lanemask_ge",
    "%dynamic_smem_size",
    "%total_smem_size",
)
"""The special registers that are known; clocks and the device's own numbers are none of a kernel's result."""


class Operands:
    """Reads the operands of one kernel's instructions."""

    def __init__(self, module: Module, function: Function, registers: dict[str, int]) -> None:
        self._registers = registers
        self._widths = [DTYPES[kind].itemsize for kind in function.registers.values()]
        self._symbols = {*module.variables, *function.variables}
        self._parameters = {one.name: number for number, one in enumerate(function.parameters)}

    def register(self, name: str, instruction: Instruction) -> int:
        """Return the number of a register that is written."""
        if name not in self._registers:
            raise PtxError(f"the instruction {instruction.text}", f"{name} is no register")
        return self._registers[name]

    def registers_in(self, operand: str) -> list[int]:
        """Return the numbers of all registers that an operand names."""
        return registers_in(operand, self._registers)

    def width(self, register: int) -> int:
        """Return the bytes of a register."""
        return self._widths[register]

    def predicate(self, guard: Guard) -> Source:
        """Return where a guard's condition comes from."""
        at, negated = self._registers[guard.register], guard.negated

        def holds(values: Registers, active: Active, machine: Machine) -> Values:
            return ~values[at] if negated else values[at]

        return holds

    def source(self, text: str, dtype: np.dtype) -> Source:
        """Return where an operand's values come from, read as a type."""
        if dtype.kind == "b" and text.startswith("!"):
            return self.predicate(Guard(text[1:].strip(), True))
        if text in self._registers:
            return self._of_register(self._registers[text], dtype)
        if text in SPECIAL:
            return lambda values, active, machine: as_type(machine.special(text, active), dtype)
        if text == "WARP_SZ":
            return _constant(dtype.type(WARP))
        if text.startswith("%"):
            raise PtxError(f"the special register {text}", "its value is not the kernel's to use")
        if text in self._symbols or text in self._parameters:
            return lambda values, active, machine: np.uint64(machine.layout.address_of(text)).astype(dtype)
        symbol, plus, shift = text.partition("+")
        if plus and symbol in self._symbols:
            by = int(shift, 0)
            return lambda values, active, machine: np.uint64(machine.layout.address_of(symbol) + by).astype(
                dtype
            )
        return _constant(number(text, dtype))

    def _of_register(self, at: int, dtype: np.dtype) -> Source:
        def value(values: Registers, active: Active, machine: Machine) -> Values:
            found = values[at]
            return found if found.dtype is dtype else as_type(found, dtype)

        return value

    def address(self, text: str) -> tuple[Source, str]:
        """Return where an address comes from, as uint64; and the variable or parameter that it names."""
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise PtxError(f"the address {text}", "the interpreter does not know it")
        name, by = found[1], int(found[2] or "0", 0)
        if name in self._registers:
            at, is_wide = self._registers[name], self._widths[self._registers[name]] == 8
            own, shift = (_U64, np.uint64(by % (1 << 64))) if is_wide else (_U32, np.uint32(by % (1 << 32)))

            def value(values: Registers, active: Active, machine: Machine) -> Values:
                base = values[at]
                base = base if base.dtype is own else as_type(base, own)
                moved = base + shift if by else base
                return moved if is_wide else moved.astype(_U64)

            return value, ""
        if name in self._symbols or name in self._parameters:
            return lambda values, active, machine: np.uint64(machine.layout.address_of(name) + by), name
        return _constant(np.uint64(int(name, 0) + by)), ""


def number(text: str, dtype: np.dtype) -> Values:
    """Return an immediate operand as a type."""
    if text[:2] in ("0f", "0F"):
        return as_type(np.uint32(int(text[2:], 16)).view(np.float32), dtype)
    if text[:2] in ("0d", "0D"):
        double = np.uint64(int(text[2:], 16)).view(np.float64)
        return double.astype(dtype) if dtype.kind == "f" else as_type(double, dtype)
    try:
        value = (
            int(text.rstrip("U"), 0) if not re.fullmatch(r"-?0[0-7]+U?", text) else int(text.rstrip("U"), 8)
        )
    except ValueError:
        if dtype.kind == "f" and re.fullmatch(r"-?\d+\.\d*(e[+-]?\d+)?", text):
            return dtype.type(float(text))
        raise PtxError(f"the operand {text}", "the interpreter does not know it") from None
    if dtype.kind == "b":
        return np.bool_(value)
    if dtype.kind == "f":
        return dtype.type(value)
    own = unsigned(dtype)
    return own.type(value % (1 << 8 * own.itemsize)).view(dtype)


def _constant(value: Values) -> Source:
    return lambda values, active, machine: value
