"""The panel Code: source, PTX and SASS of the selected kernel, and what another kernel changes."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QWidget

from engine.explain.code.code_diff import Diff
from engine.explain.code.listing import Form, ListedKernel, SourceLine
from engine.explain.messages import ShownCode
from gui.explore.code.code_rows import kernel_at, line_at, listing_rows, source_rows
from gui.explore.code.code_state import CodeState
from gui.explore.code.code_words import instruction_sentence, sentences_of, source_sentence, story_text
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.code.code_pair import CodePair
from gui.widgets.code.code_view import CodeView
from gui.widgets.code.rows import Row
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    Placeholder,
    column,
    fill_box,
    icon_button,
    narrow_box,
    row,
)
from gui.widgets.scrolled_text import ScrolledText

_FORM_TIP = (
    "What is shown beside the source. PTX is what the compiler writes for an architecture, SASS the machine "
    "code that is made of it. Choose a line on either side: what belongs to it is lit on the other."
)
_FORMS = {None: "Source", Form.PTX: "PTX", Form.SASS: "SASS"}
# With less width, what is side by side stands below one another.
_VIEWS_BESIDE_FROM = 102 * GRID
# With less height, the story leaves its room to the code.
_LOW = 36 * GRID
# Equal lines around each difference of a diff in one column.
_AROUND = 4
_STORY_LINES, _COUNT_LINES = 8, 4


class CodePanel(QWidget):
    """The code of the selected kernel."""

    def __init__(self, code: CodeState) -> None:
        super().__init__()
        self.code = code
        self._is_low = False
        self._kernels: Sequence[ListedKernel] = ()
        # The rows of the lines of the source that are shown.
        self._rows_of: dict[SourceLine, int] = {}
        self._said = ""
        self.form = narrow_box("What is shown of the kernel", _FORM_TIP, 6)
        self.slides = icon_button(
            "presentation",
            "Save the kernels as slides",
            "Save as slides: the teaching order of all kernels, each with the lines that it changes and what "
            "these saved in the results of this page (HTML)",
        )
        self.heading, self.said = ElidedLabel(most=2), ElidedLabel(most=2, small=True)
        self.story = ScrolledText("Story of the kernel's module", 1, _STORY_LINES)
        self.counts = ScrolledText("Instructions by class", 2, _COUNT_LINES)
        self.views = CodePair("Source of the kernel", "Listing of the kernel", _VIEWS_BESIDE_FROM, _AROUND)
        self.left, self.right = self.views.left, self.views.right
        self._build()
        self._connect()
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_low = self.height() < _LOW
        if is_low is not self._is_low:
            self._is_low = is_low
            self.heading.set_most(1 if is_low else 2)
            self._show()

    def _show(self) -> None:
        code = self.code
        source, diff = code.source, code.diff
        fill_box(self.form, _FORMS, code.form)
        self.stack.say(code.words if source is None else "")
        if source is None:
            return
        if diff is None:
            self._show_code(source)
        else:
            self._kernels, self._rows_of, self._said = (), {}, ""
            self.views.show_diff(diff, is_python=code.form is None)
        # Lines do not break within 32 × 8.
        self.heading.setText(
            self._heading(source, diff).replace(" × ", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}")
        )
        self.story.say(story_text(source.source))
        # A listing or a diff needs the room.
        self.story.setVisible(code.form is None and diff is None and not self._is_low)
        self._show_step()
        self._show_line()

    def _show_code(self, source: ShownCode) -> None:
        """Show the source, and a listing beside it if one is wanted."""
        rows = source_rows(source.source)
        self._rows_of = {row.source: at for at, row in enumerate(rows) if row.source is not None}
        listed = self.code.listed
        self._kernels = listed.kernels if listed is not None else ()
        listing = listing_rows(self._kernels) if self.code.form is not None else None
        if self.views.show_code(rows, listing, self.code.listing_words):
            self._said = ""

    def _heading(self, source: ShownCode, diff: Diff | None) -> str:
        if diff is None:
            return source.note or f"{source.variant}, compiled for {source.compiled_for}."
        measured = "" if diff.measured else ": run both, and what was measured stands here"
        same = "" if diff.removed or diff.added else "Nothing differs."
        said = f"{diff.heading}{measured}.", same, source.note, source.other_note
        return " ".join(filter(None, said))

    def _show_step(self) -> None:
        lines = self.code.step_lines
        self.left.light_step(frozenset(at for line, at in self._rows_of.items() if line in lines))

    def _show_line(self) -> None:
        """Say what belongs to the line with the cursor, and how many instructions there are."""
        kernel = kernel_at(self._kernels, self.right.row)
        self.said.setText(self._said)
        self.said.setVisible(bool(self._said))
        self.counts.say("\n".join(filter(None, sentences_of(kernel.counts))) if kernel else "")
        self.counts.setVisible(kernel is not None)

    def _choose_source(self, at: int) -> None:
        """Light what a line of the source has become."""
        source = self._source_at(self.left, at)
        self.left.mark(frozenset())
        if source is None or not self._kernels:
            self._said = ""
            self.right.mark(frozenset())
        else:
            self._said = source_sentence(source, self._kernels)
            self.right.mark(_rows_from(self.right.rows, source))
        self._show_line()

    def _choose_instruction(self, at: int) -> None:
        """Light the line of the source that an instruction comes from, and all that comes from it."""
        source = self._source_at(self.right, at)
        self.right.mark(frozenset())
        self.left.mark(frozenset(at for line, at in self._rows_of.items() if line == source))
        line = line_at(self._kernels, at)
        self._said = instruction_sentence(line) if line is not None else ""
        self._show_line()

    def _source_at(self, view: CodeView, at: int) -> SourceLine | None:
        return view.rows[at].source if at < len(view.rows) else None

    def _connect(self) -> None:
        code = self.code
        code.changed.connect(self._show)
        code.step_changed.connect(self._show_step)
        self.form.activated.connect(lambda at: code.choose_form(list(_FORMS)[at]))
        self.views.search_from(self)
        self.slides.clicked.connect(code.wants_slides)
        self.left.chosen.connect(self._choose_source)
        self.right.chosen.connect(self._choose_instruction)

    def _build(self) -> None:
        for label in (self.heading, self.said):
            label.setForegroundRole(QPalette.ColorRole.WindowText)
        self.heading.setAccessibleName("What the code is of")
        self.said.setAccessibleName("What belongs to the chosen line")
        shown = QWidget()
        shown.setLayout(column(self.story, (self.views, 1), self.said, self.counts, spacing=HALF_GRID))
        self.stack = Placeholder(shown)
        buttons = self.views.search, self.views.copy, self.slides
        head = row(self.form, (self.heading, 1), *buttons, spacing=HALF_GRID)
        head.setAlignment(self.heading, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(column(head, (self.stack, 1), spacing=HALF_GRID, margins=PANEL_MARGINS))


def _rows_from(rows: Sequence[Row], source: SourceLine) -> frozenset[int]:
    return frozenset(at for at, row in enumerate(rows) if row.source == source)
