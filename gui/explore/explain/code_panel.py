"""The panel Code: source, PTX and SASS of the selected kernel, and what another kernel changes."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from msgspec import structs
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from engine.explain.code_diff import Diff, measured_difference
from engine.explain.code_lines import (
    CodeLine,
    InstructionCounts,
    KernelSource,
    Listing,
    ListingForm,
    SourceLine,
    paragraphs_of,
)
from engine.explain.instructions import InstructionClass
from engine.explain.launches import ARCHITECTURES, DEFAULT, Architecture
from engine.explain.messages import CodeRequest, ShownCode
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink
from gui.explore.explain.question import KernelQuestion
from gui.explore.explain.selection import Selection
from gui.style.metrics import GRID, HALF_GRID, follow
from gui.widgets.code_pair import CodePair
from gui.widgets.code_view import CodeRow, CodeView, Look, function_rows
from gui.widgets.labels import ElidedLabel, ScrolledText
from gui.widgets.panel_parts import PANEL_MARGINS, NarrowBox, PlaceholderStack, boxed, column, fill_box, row

_COMPILING = "Compiling for {}: a second the first time."
_AFTER_RUN = "The kernel is compiled after the run, which it would disturb."


class CodeState(KernelQuestion[ShownCode]):
    """The code that is shown, or the reason why there is none."""

    # Whatever is chosen has code, also of another operation.
    no_picture = "Open a picture: the code of the chosen kernel appears here."
    no_engine = "The code appears once the engine is up."
    asking = "Reading the source."

    def __init__(self, selection: Selection, link: EngineLink) -> None:
        super().__init__(selection, link)
        self._results = results = selection.results
        self.form: ListingForm | None = None  # the listing that is wanted; None: the source alone
        # The newest listings, or their diff, and the requests for them.
        self._listings: tuple[CodeRequest, ShownCode] | None = None
        of_results = results.rowsInserted, results.rowsRemoved, results.modelReset
        for changed in (*of_results, selection.state.running_changed):
            changed.connect(lambda: self.changed.emit() if self.is_visible else None)

    @property
    def listed(self) -> ShownCode | None:
        """The listings, or their diff; None with `listing_words`, or where none are wanted."""
        wanted = self._wanted_listing
        if wanted is None or self._listings is None:
            return None
        # Those of another block stay until its own are there.
        request, listing = self._listings
        as_wanted = structs.replace(request, job=wanted.job) == wanted
        return listing if as_wanted and request.job.variant == wanted.job.variant else None

    @property
    def listing_words(self) -> str:
        if self.form is None or self.listed is not None:
            return ""
        if self._refused:
            return self._refused[0][1]
        return _AFTER_RUN if self._state.running else _COMPILING.format(self.architecture)

    @property
    def architecture(self) -> Architecture:
        """What is compiled for: at first the GPU that is here, if there is one."""
        here = (gpu.limits.compute_capability for gpu in self._state.devices if gpu.is_usable_gpu)
        known = (Architecture(*one) for one in here if one and Architecture(*one) in ARCHITECTURES)
        return self.selection.gpu or next(known, DEFAULT)

    @property
    def diff(self) -> Diff | None:
        """The diff that is shown, with what was measured; None where nothing is compared, or not yet."""
        shown = self.answer if self.form is None else self.listed
        if shown is None or shown.diff is None:
            return None
        results = [run.result for run in self._results.tried()]
        return replace(shown.diff, measured=measured_difference(results, shown.diff.left, shown.diff.right))

    def choose_form(self, form: ListingForm | None) -> None:
        """Show a listing beside the source; None for the source alone."""
        self.form = form
        self.changed.emit()
        self.refresh()

    @property
    def _job(self) -> PictureJob | None:
        return self.selection.any_job

    @property
    def _other_job(self) -> None:
        # One request has both.
        return None

    def _request_about(self, job: PictureJob) -> CodeRequest:
        return CodeRequest(job, other=self.selection.other.key if self.selection.other else "")

    @property
    def _wanted_listing(self) -> CodeRequest | None:
        job, form = self._job, self.form
        if job is None or form is None or self.answer is None:
            return None
        return structs.replace(self._request_about(job), form=form, architecture=self.architecture)

    def _missing(self) -> Iterable[CodeRequest]:
        wanted, there = self._wanted_listing, self._listings and self._listings[0]
        return () if wanted is None or wanted == there else (wanted,)

    def _take_compiled(self, request: CodeRequest, answer: ShownCode) -> None:
        self._listings = request, answer


_EMPTY = CodeRow("", Look.HEADING)


def source_rows(source: KernelSource) -> tuple[CodeRow, ...]:
    """Return each function under its heading, with an empty row before all but the first."""
    rows: list[CodeRow] = []
    for one in source.functions:
        rows += _EMPTY, CodeRow(f"{one.role} {one.name}: {one.path}", Look.HEADING), *function_rows(one)
    return tuple(rows[1:])


Place = tuple[Listing, CodeLine | None]


def listing_rows(kernels: Sequence[Listing]) -> tuple[tuple[CodeRow, ...], tuple[Place, ...]]:
    """Return the listing of each kernel under its heading, and of each row what it is of."""
    rows, places = [], []
    for one in kernels:
        lines = one.lines
        rows.append(CodeRow(one.heading, Look.HEADING))
        for number, line in enumerate(lines, start=1):
            rows.append(CodeRow(line.text.expandtabs(8), number=number, source=line.source))
        rows.append(_EMPTY)
        places += [(one, line) for line in (None, *lines, None)]
    return tuple(rows[:-1]), tuple(places[:-1])


def story_text(source: KernelSource) -> str:
    """Return the story of a module in paragraphs, as wide as there is room."""
    parts = [source.story.title]
    for section in source.story.sections:
        paragraphs = paragraphs_of(section.text)
        paragraphs[0] = f"{section.heading}: {paragraphs[0]}" if section.heading else paragraphs[0]
        parts += paragraphs
    text = "\n".join([*parts, *([source.remark] if source.remark else [])])
    return re.sub(r"`([^`]+)`|\*(\w+)\*", lambda marked: marked[1] or marked[2], text)


def counts_text(counts: InstructionCounts) -> str:
    """Return the instructions of a kernel by class, most frequent first, and what a multiply-add costs."""
    wide = f", {counts.on_64_bit} of them on 64-bit integers and addresses" if counts.on_64_bit else ""
    text = f"{_several(counts.total)}{wide}: {_by_class(counts.by_class, '{:d}')}."
    if (taps := counts.taps) is None:
        return text
    wide = f", {taps.integer_64:.1f} of them on 64-bit" if taps.integer_64 else ""
    by_class = _by_class(taps.per_tap, "{:.1f}")
    return f"{text}\n{taps.instructions:.1f} per multiply-add{wide}, {taps.where}: {by_class}."


def _by_class(counts: Mapping[InstructionClass, float], written: str) -> str:
    ordered = sorted(counts.items(), key=lambda one: -one[1])
    # Names of classes have commas.
    return " · ".join(f"{kind} {written.format(count)}" for kind, count in ordered)


def _several(count: int) -> str:
    return f"{count:,} instruction{'' if count == 1 else 's'}"


_FORM_TIP = (
    "What is shown beside the source. PTX is what the compiler writes for an architecture, SASS the machine "
    "code that is made of it. Choose a line on either side: what belongs to it is lit on the other."
)
_FORMS = {None: "Source", ListingForm.PTX: "PTX", ListingForm.SASS: "SASS"}
_VIEWS_BESIDE_FROM = 102 * GRID  # with less width, what is side by side stands below one another
_LOW = 36 * GRID  # with less height, the story leaves its room to the code
# Equal lines around each difference of a diff in one column.
_AROUND = 4
_STORY_LINES, _COUNT_LINES = 8, 4
_NO_LINE = "the compiler names no line that it comes from"


class CodePanel(QWidget):
    """The code of the selected kernel."""

    def __init__(self, code: CodeState) -> None:
        super().__init__()
        self.code = code
        self._is_low = False
        self._kernels: Sequence[Listing] = ()
        self._places: tuple[Place, ...] = ()  # what the rows of the listings are of
        self._line_text = ""
        self.form = NarrowBox("What is shown of the kernel", _FORM_TIP, 6)
        self.heading = ElidedLabel(most=2, is_plain=True, name="What the code is of")
        self.of_line = ElidedLabel(most=2, small=True, is_plain=True, name="What belongs to the chosen line")
        self.story = ScrolledText("Story of the kernel's module", 1, _STORY_LINES)
        self.counts = ScrolledText("Instructions by class", 2, _COUNT_LINES)
        self.views = CodePair("Source of the kernel", "Listing of the kernel", _VIEWS_BESIDE_FROM, _AROUND)
        self.left, self.right = self.views.left, self.views.right
        shown = column(self.story, (self.views, 1), self.of_line, self.counts, spacing=HALF_GRID)
        self.stack = PlaceholderStack(boxed(shown))
        head = row(self.form, (self.heading, 1), self.views.search, self.views.copy, spacing=HALF_GRID)
        head.setAlignment(self.heading, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(column(head, (self.stack, 1), spacing=HALF_GRID, margins=PANEL_MARGINS))
        self.form.chosen.connect(code.choose_form)
        self.views.search_from(self)
        self.left.chosen.connect(self._choose_source)
        self.right.chosen.connect(self._choose_instruction)
        follow(self._show, code.changed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_low = self.height() < _LOW
        if is_low is not self._is_low:
            self._is_low = is_low
            self.heading.set_most(1 if is_low else 2)
            self._show()

    def _show(self) -> None:
        code = self.code
        source, diff = code.answer, code.diff
        fill_box(self.form, _FORMS, code.form)
        self.stack.say(code.words if source is None else "")
        if source is None:
            return
        sentences = [source.note or f"{source.variant}, compiled for {source.compiled_for}."]
        if diff is None:
            self._show_code(source)
        else:
            self._kernels, self._places, self._line_text = (), (), ""
            self.views.show_diff(diff, is_python=code.form is None)
            measured = "" if diff.measured else ": run both, and what was measured stands here"
            same = "" if diff.removed or diff.added else "Nothing differs."
            sentences = [f"{diff.heading}{measured}.", same, source.note, source.other_note]
        heading = " ".join(filter(None, sentences))
        # Lines do not break within 32 × 8.
        self.heading.setText(heading.replace(" × ", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}"))
        self.story.say(story_text(source.source))
        # A listing or a diff needs the room.
        self.story.setVisible(code.form is None and diff is None and not self._is_low)
        self._show_line()

    def _show_code(self, source: ShownCode) -> None:
        rows = source_rows(source.source)
        listed = self.code.listed
        self._kernels = listed.kernels if listed is not None else ()
        listing, self._places = listing_rows(self._kernels)
        if self.views.show_code(rows, None if self.code.form is None else listing, self.code.listing_words):
            self._line_text = ""

    def _show_line(self) -> None:
        """Say what belongs to the line with the cursor, and how many instructions there are."""
        at = self.right.row
        kernel = self._places[at][0] if 0 <= at < len(self._places) else None
        self.of_line.say(self._line_text)
        self.counts.say(counts_text(kernel.counts) if kernel else "")
        self.counts.setVisible(kernel is not None)

    def _choose_source(self, at: int) -> None:
        """Light what a line of the source has become."""
        source, self._line_text = self._light(self.left, at, self.right), ""
        if source is not None:
            lines = (line for one in self._kernels for line in one.lines if line.source == source)
            made, form = Counter(line.kind for line in lines if line.kind), self._kernels[0].form.upper()
            became = f"{_several(sum(made.values()))} of {form}: {_by_class(made, '{:d}')}."
            none = f"no instruction of this {form} comes from it."
            self._line_text = f"Line {source.line}: {became if made else none}"
        self._show_line()

    def _choose_instruction(self, at: int) -> None:
        """Light the line of the source that an instruction comes from, and all that comes from it."""
        self._light(self.right, at, self.left)
        line, self._line_text = self._places[at][1] if at < len(self._places) else None, ""
        if line is not None and line.kind is not None:
            of = f"from line {line.source.line} of {line.source.path}" if line.source else _NO_LINE
            self._line_text = f"{line.opcode}: {line.kind}; {of}."
        self._show_line()

    def _light(self, chosen: CodeView, at: int, other: CodeView) -> SourceLine | None:
        """Light what belongs to a row on the other side; return its line of the source, of code alone."""
        is_of_code = self._kernels and at < len(chosen.rows)
        source = chosen.rows[at].source if is_of_code else None
        chosen.mark(frozenset())
        same = (at for at, row in enumerate(other.rows) if source is not None and row.source == source)
        other.mark(frozenset(same))
        return source
