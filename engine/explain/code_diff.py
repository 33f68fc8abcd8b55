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
from textwrap import dedent

from engine.device_info import RECORDED
from engine.explain.code_lines import Listing, ListingForm, Role, SourceFunction
from engine.results.measurement import AnyResult
from engine.results.metrics import compared
from engine.results.text_forms import ms_cell


@dataclass(frozen=True, slots=True)
class MeasuredDifference:
    """Two median kernel times of one problem on one device."""

    before: str
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
        elif self.saved <= -1.0:
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
    return MeasuredDifference(before, before_ms, after_ms, problem, machine_text(best))


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


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row of two columns, or of one; the side that has no such line has no number: a gap has none."""

    change: Change
    left_number: int | None = None
    left: str = ""
    right_number: int | None = None
    right: str = ""

    @property
    def text(self) -> str:
        """The line, of both sides the right one."""
        return self.left if self.right_number is None else self.right

    @property
    def marked(self) -> str:
        """The line of one column behind a blank, a minus or a plus."""
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

    def unified(self, around: int | None = None) -> tuple[DiffRow, ...]:
        """Return the rows as one column, removed lines before added ones.

        `around` is how many equal lines stay before and after each difference; None: all. A gap is an empty
        line without numbers.
        """
        shown, gap = list[DiffRow](), DiffRow(Change.SAME)
        for at, row in enumerate(self.rows):
            near = self.rows[max(0, at - (around or 0)) : at + (around or 0) + 1]
            if around is None or any(one.change is not Change.SAME for one in near):
                shown.append(row)
            elif shown and shown[-1] != gap:
                shown.append(gap)
        lines: list[DiffRow] = []
        for is_same, group in groupby(shown, lambda row: row.change is Change.SAME):
            rows = list(group)
            if is_same:
                lines += rows
                continue
            lines += [DiffRow(Change.REMOVED, one.left_number, one.left) for one in rows if one.left_number]
            added = (one for one in rows if one.right_number)
            lines += [DiffRow(Change.ADDED, None, "", one.right_number, one.right) for one in added]
        return tuple(lines[:-1] if lines and lines[-1] == gap else lines)


_Code = SourceFunction | Listing


def diff_of(left: Sequence[_Code], right: Sequence[_Code], names: tuple[str, str]) -> Diff:
    """Return the diff of the functions of two kernels, or of their listings in one form.

    Functions that both call are left out.
    """
    a, b = (
        [
            line
            for one in side
            if isinstance(one, Listing) or one.role is Role.KERNEL or one not in other
            for line in _lines(one)
        ]
        for side, other in ((left, right), (right, left))
    )
    rows = []
    matcher = SequenceMatcher(None, [line[2] for line in a], [line[2] for line in b], autojunk=False)
    for name, *ends in matcher.get_opcodes():
        sides = a[slice(*ends[:2])], b[slice(*ends[2:])]
        for one, other in zip_longest(*sides, fillvalue=(None, "", "")):
            change = Change.SAME if name == "equal" else Change.CHANGED
            if one[0] is None or other[0] is None:
                change = Change.ADDED if one[0] is None else Change.REMOVED
            rows.append(DiffRow(change, *one[:2], *other[:2]))
    return Diff(*names, tuple(rows))


_SHORTENED: dict[ListingForm, Callable[[str], str]] = {
    ListingForm.PTX: lambda text: re.sub(r"\$L__\w+", "$L", re.sub(r"(%[a-z]+)\d+", r"\1", text)),
    ListingForm.SASS: lambda text: re.sub(r"\.L\w+", ".L", re.sub(r"\b(U?[RPB])\d+\b", r"\1", text)),
}


def _lines(code: _Code) -> Iterator[tuple[int | None, str, str]]:
    """Yield the number of each line in its file or listing, its text, and what is compared of it."""
    if isinstance(code, Listing):
        own = re.compile(rf"\b{re.escape(code.kernel)}")
        for number, line in enumerate(code.lines, start=1):
            if line.text.strip():
                compared = _SHORTENED[code.form](own.sub("kernel", line.text))
                yield number, line.text, " ".join(compared.split())
        return
    nodes = ast.walk(ast.parse(dedent(code.text)))
    docstrings = [
        node.body[0] for node in nodes if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)
    ]
    own = re.compile(rf"\b{re.escape(code.name)}\b")
    for at, text in enumerate(code.lines, start=1):
        if not any(one.lineno <= at <= (one.end_lineno or at) for one in docstrings):
            compared = own.sub("kernel", text.rstrip()) if code.role is Role.KERNEL else text.rstrip()
            yield code.first_line + at - 1, text, compared
