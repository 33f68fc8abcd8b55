"""The paper's tables, one at a time with its figure and notes; and the code of its kernels and steps."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QSplitter, QWidget

from engine.course.files import tabs_of
from engine.course.paper import CourseTable, Excerpt
from engine.course.runs import NOT_YET
from gui.course.course_model import CourseModel, PaperTables
from gui.course.course_table import CourseTableView, reasons_of
from gui.course.kernels_table import plain
from gui.engine_link.device_box import OFFER
from gui.engine_link.engine_state import EngineState
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.widgets.code_pair import CodePair
from gui.widgets.code_view import function_rows
from gui.widgets.labels import ScrolledText
from gui.widgets.panel_parts import NarrowBox, Placeholder, column, fill_box, quiet_label, row

_NO_PAPER = (
    "Choose a paper on the left: its tables appear here, with this machine's figures beside the printed ones."
)
_COUNTING = "The paper's tables are being counted."
_RUN_FIRST = "Press Run (Ctrl+R) to fill these cells; any that cannot be measured say why."
# Of the notes.
_FEWEST_LINES = 2
# And at most this part of the panel: the table above them needs the rest.
_NOTES_SHARE = 0.3
_CHOICE_TIP = "The tables of this paper, by the paper's own headings."


class TablesPanel(QWidget):
    """Shows one of the paper's tables at a time."""

    copied = Signal(int)  # this number of rows is on the clipboard

    def __init__(self, course: CourseModel, state: EngineState) -> None:
        super().__init__()
        self._course = course
        self._state = state
        self.choice = NarrowBox("Table of the paper", _CHOICE_TIP, 8)
        self.table = CourseTableView()
        self.figure_place = QWidget()
        self._figure_column = column()
        self.figure_place.setLayout(self._figure_column)
        margins = GRID, HALF_GRID, GRID, HALF_GRID
        self.notes = ScrolledText("Notes", _FEWEST_LINES, _FEWEST_LINES + 1, margins)
        self._beside = QSplitter(Qt.Orientation.Horizontal)
        self.stack = Placeholder(self._beside)
        self.choice.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        bar = row((self.choice, 1), margins=(GRID, HALF_GRID, GRID, 0))
        self._beside.addWidget(self.table)
        self._beside.addWidget(self.figure_place)
        self._beside.setChildrenCollapsible(False)
        # It takes what is left.
        self.stack.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.stack.setMinimumHeight(10 * GRID)
        self.setLayout(column(bar, (self.stack, 1), self.notes, spacing=HALF_GRID))
        self.choice.currentIndexChanged.connect(self._show_table)
        course.paper_changed.connect(self._show_paper)
        course.tables_changed.connect(self._follow)
        state.ready_changed.connect(self._show_table)
        # The arrow keys scroll them.
        self.notes.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._show_paper()

    @property
    def shown(self) -> CourseTable | None:
        """The table that is shown."""
        at = self.choice.currentIndex()
        return self._tables()[at] if 0 <= at < len(self._tables()) else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()
        line = QFontMetrics(small_font()).lineSpacing()
        self.notes.set_most(int(self.height() * _NOTES_SHARE) // line)

    def copy(self) -> None:
        """Copy the table that is shown, for a spreadsheet."""
        if self.shown:
            QGuiApplication.clipboard().setText(tabs_of(self.shown))
            self.copied.emit(len(self.shown.rows))

    def _tables(self) -> tuple[CourseTable, ...]:
        paper = self._course.paper
        return self._course.tables(paper.key) if paper else ()

    def _follow(self, key: str) -> None:
        if self._course.paper and self._course.paper.key == key:
            self._show_paper(keep=True)

    def _show_paper(self, *, keep: bool = False) -> None:
        tables = self._tables()
        at = self.choice.currentIndex() if keep else 0
        titles = dict(enumerate(table.title for table in tables))
        fill_box(self.choice, titles, min(max(at, 0), len(tables) - 1))
        self.choice.setEnabled(bool(tables))
        self._show_table()

    def _show_table(self) -> None:
        table, paper = self.shown, self._course.paper
        known = self._course.known(paper.key) if paper else PaperTables()
        why_none = known.problem or _COUNTING if paper else _NO_PAPER
        self.stack.say("" if table else why_none)
        self.table.show_table(table)
        notes: tuple[str, ...] = ()
        if table is not None:
            reasons = reasons_of(table)
            is_offered = self._state.lacks_gpu and not self._state.shows_recorded
            lacks = any(cell.reason for row in table.rows for cell in row)
            offers = (OFFER,) if is_offered and lacks else ()
            # The other cells already have the reason why nothing can fill them.
            remedies = (_RUN_FIRST,) if not known.is_measured and can_be_filled(table) else ()
            notes = (*offers, *reasons, *remedies, *map(plain, table.notes))
        self.notes.say("\n".join(notes))
        self.notes.setVisible(bool(notes))
        self._show_figure(table)

    def _show_figure(self, table: CourseTable | None) -> None:
        figure = table.figure if table else None
        self.figure_place.setVisible(figure is not None)
        if figure is None:
            return
        # pyqtgraph takes 0.2 to 0.5 s to import, and most tables have no figure.
        from gui.widgets.plot import FigurePlot

        plot = self.figure_place.findChild(FigurePlot)
        if plot is None:
            plot = FigurePlot()
            self._figure_column.addWidget(plot)
        plot.show_figure(figure)
        self._share_width()

    def _share_width(self) -> None:
        """Give the table what its columns need, and the figure the rest, but a third at least."""
        width = self._beside.width()
        of_table = min(self.table.header.length() + 2 * GRID, width * 2 // 3)
        self._beside.setSizes([of_table, width - of_table])


def can_be_filled(table: CourseTable) -> bool:
    """Whether a run measures something of a table."""
    return any(cell.reason == NOT_YET for row in table.rows for cell in row)


_LOOKING = "The code is being looked up."
_NO_CODE = "Choose a paper on the left: the code of its kernels appears here."
_CODE_TIP = "The kernels of this paper, and the steps of its tables that name our code."


class CodePanel(QWidget):
    """Shows one function at a time; of what a paper prints, what it calls our names."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        self._wanted = ""
        self.choice = NarrowBox("Kernel or step whose code is shown", _CODE_TIP, 16)
        self.where = quiet_label(small=True, wraps=True)
        self.names = quiet_label(small=True, wraps=True)
        self.views = CodePair("Our code", "", 0)
        self.stack = Placeholder(self.views)
        self.choice.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        for label in (self.where, self.names):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # The code itself reaches the edges.
        for part in (self.where, self.names, self.views.find_bar):
            part.setContentsMargins(GRID, 0, GRID, 0)
        self.views.search_from(self)
        self.stack.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        buttons = self.views.search, self.views.copy
        bar = row((self.choice, 1), *buttons, spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, 0))
        self.setLayout(column(bar, self.where, self.names, (self.stack, 1), spacing=HALF_GRID))
        self.choice.currentIndexChanged.connect(self._show)
        course.paper_changed.connect(self._take_paper)
        course.code_changed.connect(self._take)
        course.tables_changed.connect(self._take)
        self._take_paper()

    @property
    def shown(self) -> Excerpt | None:
        """The function that is shown."""
        at = self.choice.currentIndex()
        return self._excerpts()[at] if 0 <= at < len(self._excerpts()) else None

    def show_code_of(self, about: str) -> None:
        """Show the code of a kernel of the paper, or of a step, as soon as it is there."""
        self._wanted = about
        self._take()

    def _excerpts(self) -> tuple[Excerpt, ...]:
        paper = self._course.paper
        return self._course.excerpts(paper.key) if paper else ()

    def _take_paper(self) -> None:
        self._wanted = ""
        self.choice.setCurrentIndex(-1)
        self._take()

    def _take(self) -> None:
        """Offer what is known; what is shown stays, unless something else is wanted and there."""
        excerpts, shown = self._excerpts(), self.choice.currentText()
        labels = [f"{one.about}: {one.code}" for one in excerpts]
        at = labels.index(shown) if shown in labels else 0
        wanted = next((at for at, one in enumerate(excerpts) if one.about == self._wanted), None)
        if wanted is not None:
            at, self._wanted = wanted, ""
        fill_box(self.choice, dict(enumerate(labels)), min(at, len(labels) - 1))
        self.choice.setEnabled(bool(labels))
        self._show()

    def _show(self) -> None:
        one, paper = self.shown, self._course.paper
        problem = self._course.known(paper.key).code_problem if paper else ""
        self.stack.say("" if one else problem or (_LOOKING if paper else _NO_CODE))
        for label in (self.where, self.names):
            label.setVisible(one is not None)
        if one is None:
            return
        self.where.setText(f"{one.code}: {one.where}")
        names = (
            next((kernel.names for kernel in paper.kernels if kernel.name == one.about), {}) if paper else {}
        )
        self.names.setVisible(bool(names))
        pairs = ", ".join(f"{theirs} is {ours}" for ours, theirs in names.items())
        self.names.setText(f"In the paper: {pairs}.")
        self.views.show_code(function_rows(one.function))
        self.views.left.mark(one.lit)
