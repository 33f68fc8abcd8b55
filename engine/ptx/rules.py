"""How an instruction is spelled, and what its spelling says: the types of its operands, and what it computes.

A spelling that no `Row` has is refused: nothing is guessed.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from engine.ptx import floats
from engine.ptx.module import Instruction, listed
from engine.ptx.types import BOOL, DTYPES, F16, S32, U32, Values, as_type, unsigned, wider

Compute = Callable[..., Values]
Types = Sequence[np.dtype]


class Row(NamedTuple):
    """A line of the table of instructions.

    `names` are instructions; `words` is a regular expression of the modifiers before the types, whose groups
    `compute` gets before the operands, and before these the type of the result where it is `typed`. `types`
    has a letter for the result (`_SPELLED`, `_OTHER`), and one for each operand. Of a row of `lanes` those of
    a warp are computed together.
    """

    names: str
    words: str
    types: str
    compute: Compute
    typed: bool = False
    lanes: bool = False


class Rule(NamedTuple):
    """The types that an instruction reads its operands as, the one that it writes, and what it computes.

    That is a value, or a tuple with one for each register that is written.
    """

    result: np.dtype
    sources: tuple[np.dtype, ...]
    compute: Compute
    lanes: bool = False


# T is the type that stands last, I an integer, F a floating-point number, R float32; S stands before it. Each
# with its place, and with NumPy's letters of the types that it may be.
_INTEGERS = "bBhHiIlLqQ"
_SPELLED = {
    "T": (-1, f"?{_INTEGERS}efd"),
    "I": (-1, _INTEGERS),
    "F": (-1, "efd"),
    "R": (-1, "f"),
    "S": (-2, f"?{_INTEGERS}efd"),
}
# U is 32 bits, P a predicate, C the carry flag; W has twice the bits of T, D is signed where S or T is.
_OTHER: dict[str, Callable[[Types], np.dtype]] = {
    "U": lambda types: U32,
    "P": lambda types: BOOL,
    "C": lambda types: BOOL,
    "W": lambda types: wider(types[-1]),
    "D": lambda types: S32 if "i" in (types[-2].kind, types[-1].kind) else U32,
}


class Table:
    """The instructions that compute from values alone, and those that the lanes of a warp do together."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[str, list[Row]] = {}
        for row in rows:
            for name in row.names.split():
                self._rows.setdefault(name, []).append(row)
        self._known: dict[tuple[str, tuple[str, ...]], Rule | None] = {}

    def rule_of(self, instruction: Instruction) -> Rule | None:
        """Return what an instruction computes; None where that is more than values."""
        name, operands = instruction.name, instruction.operands
        if name == "mov" and (parts := [one for one in operands if one[0] == "{"]):
            return _parts(instruction.dtype, len(listed(parts[0])), operands[1].startswith("{"))
        if name not in self._rows:
            return None
        key = name, instruction.modifiers
        if key not in self._known:
            self._known[key] = self._flagged(*key)
        rule = self._known[key]
        if rule is None:
            raise instruction.unknown()
        if "|" in operands[0] and rule.result == BOOL:
            return rule._replace(compute=partial(_with_opposite, rule.compute))
        return rule

    def _flagged(self, name: str, modifiers: tuple[str, ...]) -> Rule | None:
        """Return a rule with what `.ftz` and `.sat` add to it, where it does not read these itself."""
        for flags in ((), ("ftz",), ("sat",), ("ftz", "sat")):
            rest = [one for one in modifiers if one not in flags]
            if len(rest) + len(flags) != len(modifiers) or (rule := self._plain(name, rest)) is None:
                continue
            compute = rule.compute
            if flags and "f" not in (rule.result.kind, *(one.kind for one in rule.sources)):
                continue
            if "ftz" in flags:
                compute = partial(_flushing, compute)
            if "sat" in flags and rule.result.kind == "f":
                compute = partial(_saturating, compute)
            return rule._replace(compute=compute)
        return None

    def _plain(self, name: str, modifiers: list[str]) -> Rule | None:
        for row in self._rows[name]:
            if (found := _matched(row, modifiers)) is not None:
                return found
        if modifiers[-1:] != ["f16x2"] or (rule := self._plain(name, [*modifiers[:-1], "f16"])) is None:
            return None
        if {rule.result, *rule.sources} != {F16}:
            return None
        return Rule(U32, (U32,) * len(rule.sources), partial(_by_halves, rule.compute))


def _matched(row: Row, modifiers: list[str]) -> Rule | None:
    """Return the rule of a row where some modifiers are what it spells."""
    letters = [one for one in row.types if one != ":"]
    spelled = [_SPELLED[one] for one in letters if one in _SPELLED]
    count = -min((at for at, _ in spelled), default=0)
    words, names = modifiers[: len(modifiers) - count], modifiers[len(modifiers) - count :]
    found = re.fullmatch(row.words, ".".join(words))
    if found is None or len(names) < count or not {*names} <= DTYPES.keys() - {"f16x2"}:
        return None
    types = [DTYPES[one] for one in names]
    if any(types[at].char not in known for at, known in spelled):
        return None
    result, *sources = (types[_SPELLED[one][0]] if one in _SPELLED else _OTHER[one](types) for one in letters)
    given = (*((result,) if row.typed else ()), *found.groups())
    compute = partial(row.compute, *given) if given else row.compute
    return Rule(result, tuple(sources), compute, row.lanes)


def _with_opposite(compare: Compute, *operands: Values) -> tuple[Values, Values]:
    found = compare(*operands)
    return found, ~found


def _flushing(compute: Compute, *operands: Values) -> Values:
    return floats.flushed(compute(*map(floats.flushed, operands)))


def _saturating(compute: Compute, *operands: Values) -> Values:
    return floats.saturated(compute(*operands))


def _by_halves(compute: Compute, *operands: Values) -> Values:
    """Return what is computed of float16 in both halves of 32-bit registers."""
    halves = [[as_type(one >> np.uint32(shift), F16) for one in operands] for shift in (0, 16)]
    low, high = (floats.half_bits(compute(*half).astype(F16)) for half in halves)
    return low | (high << np.uint32(16))


def _parts(whole: np.dtype, count: int, packs: bool) -> Rule:
    """Return the rule of a `mov` between a register and the parts of one."""
    whole = unsigned(whole)
    part = np.dtype(f"u{whole.itemsize // count}")
    shifts = [whole.type(8 * part.itemsize * number) for number in range(count)]

    def pack(*parts: Values) -> Values:
        found = whole.type(0)
        for one, shift in zip(parts, shifts, strict=True):
            found = found | (one.astype(whole) << shift)
        return found

    def unpack(value: Values) -> tuple[Values, ...]:
        return tuple((value >> shift).astype(part) for shift in shifts)

    return Rule(whole, (part,) * count, pack) if packs else Rule(part, (whole,), unpack)
