"""Where an instruction's operands come from: registers, numbers, special registers, variables."""

from collections.abc import Callable

import numpy as np

from engine.ptx.active import WARP
from engine.ptx.group import Group
from engine.ptx.kernel import Kernel
from engine.ptx.machine import SPECIAL
from engine.ptx.module import PtxError, address_of, number
from engine.ptx.types import U32, U64, Values, as_type

Source = Callable[[Group], Values]


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
    if register in SPECIAL and axis in "xyz":
        return lambda group: as_type(group.machine.special(text, group.active), dtype)
    if text.startswith("%"):
        raise PtxError(f"the special register {text}", "its value is not the kernel's to use")
    symbol, _, shift = text.partition("+")
    if symbol in kernel.addresses:
        constant = np.uint64(kernel.addresses[symbol] + int(shift or "0", 0)).astype(dtype)
    else:
        constant = dtype.type(WARP) if text == "WARP_SZ" else number(text, dtype)
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
