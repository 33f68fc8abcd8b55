"""How an instruction is spelled: its modifiers, taken one after another, and the rule that they say.

A modifier that no rule reads is refused: nothing is guessed.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine.ptx import floats
from engine.ptx.module import Instruction
from engine.ptx.types import DTYPES, Values

U32, S32, U64, BOOL = (np.dtype(kind) for kind in (np.uint32, np.int32, np.uint64, np.bool_))

Compute = Callable[..., Values]
DIRECTIONS = "rn", "rz", "rm", "rp"


class Rule(NamedTuple):
    """The types that an instruction reads its operands as, the one that it writes, and what it computes.

    With `has_many` it computes a sequence: a value for each register that is written.
    """

    result: np.dtype
    sources: tuple[np.dtype, ...]
    compute: Compute
    has_many: bool = False


class Spelling:
    """The modifiers of an instruction, taken one after another; what is left over is refused."""

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.rest = list(instruction.modifiers)

    def has(self, word: str) -> bool:
        """Return whether a modifier is there, and take it."""
        if word in self.rest:
            self.rest.remove(word)
            return True
        return False

    def one_of(self, *words: str) -> str:
        """Return the first of these that is there, and take it; empty where none is."""
        return next((word for word in words if self.has(word)), "")

    def dtype(self) -> np.dtype:
        """Return the type that stands last, and take it."""
        if not self.rest or self.rest[-1] not in DTYPES:
            raise self.instruction.unknown()
        return DTYPES[self.rest.pop()]

    def done(self, rule: Rule) -> Rule:
        """Return a rule where every modifier was taken."""
        if self.rest:
            raise self.instruction.unknown()
        return rule


def same(count: int, dtype: np.dtype, compute: Compute) -> Rule:
    """Return a rule whose operands and result have one type."""
    return Rule(dtype, (dtype,) * count, compute)


def flushing(said: Spelling, compute: Compute) -> Compute:
    """Return the computation with what `.ftz` adds."""
    if not said.has("ftz"):
        return compute
    return lambda *operands: floats.flushed(compute(*map(floats.flushed, operands)))


def with_flags(said: Spelling, dtype: np.dtype, compute: Compute) -> Compute:
    """Return the computation with what `.ftz` and `.sat` add."""
    whole = flushing(said, compute)
    if said.has("sat") and dtype.kind == "f":
        return lambda *operands: floats.saturated(whole(*operands))
    return whole


def alike(count: int, compute: Compute) -> Callable[[Spelling], Rule]:
    """Return what makes the rule of an instruction with one type for operands and result."""

    def make(said: Spelling) -> Rule:
        dtype = said.dtype()
        return same(count, dtype, with_flags(said, dtype, compute) if dtype.kind == "f" else compute)

    return make
