"""What differs between two kernels, as data: rows of a diff, unified or side by side.

Lines are compared without what says nothing: the name of the kernel, docstrings, the numbers of registers,
labels and addresses. They are shown as they are.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import groupby, zip_longest
from typing import NamedTuple

from engine.device_info import RECORDED
from engine.explain.code_lines import Form, Listing, SourceFunction
from engine.results.measurement import AnyResult
from engine.results.metrics import compared
from engine.results.text_forms import ms_cell

# More than this part of the time before is said in times.
_MOST_MORE = 1.0


@dataclass(frozen=True, slots=True)
class MeasuredDifference:
    """Two median kernel times of one problem on one device."""

    before: str
    after: str
    before_ms: float
    after_ms: float
    problem: str
    device: str

    @property
    def saved(self) -> float:
        """The part of the time before that is gone; negative where it takes longer."""
        return 1.0 - self.after_ms / self.before_ms

    @property
    def sentence(self) -> str:
        """The difference in words."""
        share = abs(self.saved)
        word = f"{100 * share:.0f} % {'less' if self.saved > 0 else 'more'} than"
        if share < 0.01:
            word = "about as long as"
        elif self.saved <= -_MOST_MORE:
            word = f"{1 + share:.3g} times as long as"
        return (
            f"{ms_cell(self.after_ms)} ms instead of {ms_cell(self.before_ms)} ms, {word} {self.before} "
            f"({self.problem}, {self.device})"
        )


def measured_difference(results: Sequence[AnyResult], before: str, after: str) -> MeasuredDifference | None:
    """Return what two variants took on the largest problem that both have a verified time for; else None.

    Of several blocks the fastest counts, and recorded runs only where there are no others.
    """
    runs = [
        (one.baseline.kernel_ms, one.result.kernel_ms, one.result)
        for one in compared(results, before)
        if one.result.variant == after and one.baseline is not None and one.result.kernel_ms
        if one.baseline.kernel_ms and one.baseline.device == one.result.device
    ]
    runs = [run for run in runs if run[2].device != RECORDED] or runs
    if not runs:
        return None
    before_ms, after_ms, best = min(runs, key=lambda run: (-run[0], run[1]))
    problem = best.problem.size_text + (f", {best.mask_name}" if best.mask_name else "")
    return MeasuredDifference(before, after, before_ms, after_ms, problem, machine_text(best))


def machine_text(result: AnyResult) -> str:
    """Return what a result was measured on, and whether that is another machine's, which was recorded."""
    device = result.environment.device
    return f"{RECORDED}, {device}" if result.device == RECORDED else device


class Change(StrEnum):
    """What a row of a diff says."""

    SAME = "same"
    CHANGED = "changed"
    REMOVED = "removed"
    ADDED = "added"


_MARKS = {Change.SAME: " ", Change.REMOVED: "-", Change.ADDED: "+"}


class ShownLine(NamedTuple):
    """A line of one side: the number in its file or listing, from 1, its text, and what is compared."""

    number: int | None = None  # None: the side has no such line
    text: str = ""
    compared: str = ""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of two columns; the side that has no such line has no number."""

    change: Change
    left_number: int | None = None
    left: str = ""
    right_number: int | None = None
    right: str = ""


_GAP = DiffRow(Change.SAME)


class UnifiedLine(NamedTuple):
    """A line of one column: same, removed or added, with its number on either side."""

    change: Change
    left_number: int | None
    right_number: int | None
    text: str

    @property
    def marked(self) -> str:
        """The line behind a blank, a minus or a plus."""
        return f"{_MARKS[self.change]}{self.text}".rstrip()


@dataclass(frozen=True, slots=True)
class Diff:
    """Two pieces of code side by side."""

    left: str
    right: str
    rows: tuple[DiffRow, ...]
    measured: MeasuredDifference | None = None

    @property
    def heading(self) -> str:
        """What is compared, and the measured difference where it is known."""
        head = f"{self.left} → {self.right}"
        return f"{head}: {self.measured.sentence}" if self.measured else head

    @property
    def removed(self) -> int:
        """Lines that the left one alone has."""
        return sum(row.change in (Change.REMOVED, Change.CHANGED) for row in self.rows)

    @property
    def added(self) -> int:
        """Lines that the right one alone has."""
        return sum(row.change in (Change.ADDED, Change.CHANGED) for row in self.rows)

    def unified(self, around: int | None = None) -> tuple[UnifiedLine, ...]:
        """Return the rows as one column, removed lines before added ones.

        `around` is how many equal lines stay before and after each difference; None: all. A gap is an empty
        line without numbers.
        """
        lines: list[UnifiedLine] = []
        rows = _near_changes(self.rows, around)
        for is_same, group in groupby(rows, lambda row: row.change is Change.SAME):
            for one in (alike := list(group)):
                if is_same:
                    lines.append(UnifiedLine(Change.SAME, one.left_number, one.right_number, one.right))
                elif one.left_number is not None:
                    lines.append(UnifiedLine(Change.REMOVED, one.left_number, None, one.left))
            lines += [
                UnifiedLine(Change.ADDED, None, one.right_number, one.right)
                for one in alike
                if not is_same and one.right_number is not None
            ]
        return tuple(lines)


def source_diff(
    left: Sequence[SourceFunction],
    right: Sequence[SourceFunction],
    names: tuple[str, str],
    measured: MeasuredDifference | None = None,
) -> Diff:
    """Return the diff of the functions of two kernels; functions that both call are left out."""
    sides = (
        [
            line
            for one in side
            if one.is_kernel or one not in left or one not in right
            for line in _source_lines(one)
        ]
        for side in (left, right)
    )
    return Diff(*names, tuple(_rows(*sides)), measured)


def listing_diff(
    left: Sequence[Listing],
    right: Sequence[Listing],
    names: tuple[str, str],
    measured: MeasuredDifference | None = None,
) -> Diff:
    """Return the diff of the listings of two variants, of the same form."""
    sides = ([line for listing in side for line in _listing_lines(listing)] for side in (left, right))
    return Diff(*names, tuple(_rows(*sides)), measured)


def _rows(left: list[ShownLine], right: list[ShownLine]) -> Iterator[DiffRow]:
    a_keys, b_keys = ([line.compared for line in side] for side in (left, right))
    for name, a, b, c, d in SequenceMatcher(None, a_keys, b_keys, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[a:b], right[c:d], fillvalue=ShownLine()):
            change = Change.SAME if name == "equal" else Change.CHANGED
            if one.number is None or other.number is None:
                change = Change.ADDED if one.number is None else Change.REMOVED
            yield DiffRow(change, *one[:2], *other[:2])


def _near_changes(rows: Sequence[DiffRow], around: int | None) -> Iterator[DiffRow]:
    """Yield the rows near a change, and a gap where some are left out between."""
    if around is None:
        yield from rows
        return
    changed = [at for at, row in enumerate(rows) if row.change is not Change.SAME]
    kept = {at for one in changed for at in range(one - around, one + around + 1) if 0 <= at < len(rows)}
    for at in sorted(kept):
        if at - 1 not in kept and at > min(kept):
            yield _GAP
        yield rows[at]


def _source_lines(function: SourceFunction) -> Iterator[ShownLine]:
    """Yield the lines of a function without docstrings; of a kernel without its name."""
    nodes = (node for node in ast.walk(function.tree) if isinstance(node, ast.FunctionDef))
    docstrings = [node.body[0] for node in nodes if ast.get_docstring(node) is not None]
    own = re.compile(rf"\b{re.escape(function.name)}\b")
    for at, text in enumerate(function.lines, start=1):
        if not any(one.lineno <= at <= (one.end_lineno or at) for one in docstrings):
            compared = own.sub("kernel", text.rstrip()) if function.is_kernel else text.rstrip()
            yield ShownLine(function.first_line + at - 1, text, compared)


_SHORTENED: dict[Form, Callable[[str], str]] = {
    Form.PTX: lambda text: re.sub(r"\$L__\w+", "$L", re.sub(r"(%[a-z]+)\d+", r"\1", text)),
    Form.SASS: lambda text: re.sub(r"\.L\w+", ".L", re.sub(r"\b(U?[RPB])\d+\b", r"\1", text)),
}


def _listing_lines(listing: Listing) -> Iterator[ShownLine]:
    own = re.compile(rf"\b{re.escape(listing.kernel)}")
    for number, line in enumerate(listing.lines, start=1):
        if line.text.strip():
            compared = _SHORTENED[listing.form](own.sub("kernel", line.text))
            yield ShownLine(number, line.text, " ".join(compared.split()))
