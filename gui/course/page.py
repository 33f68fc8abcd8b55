"""Course: papers; the kernels of one, its tables with the figures of this machine, and the code of both."""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, ClassVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QListWidget, QListWidgetItem, QSizePolicy, QSplitter, QWidget

from engine.course.files import tabs_of
from engine.course.paper import CourseTable, Excerpt
from engine.course.runs import NOT_YET
from gui.course.course_model import CourseController, CourseModel, part_of, show_part
from gui.course.course_table import CourseTableView, reasons_of
from gui.course.kernels_table import SECOND_ROLE, KernelsTable, TwoLines, plain
from gui.engine_link.device_box import OFFER
from gui.engine_link.engine_state import EngineState
from gui.page.contract import Page, PageStatus, Services, Tool
from gui.page.panels import Panel, PanelTabs, Share, Shares
from gui.page.slot import Slot
from gui.style.metrics import GRID, HALF_GRID, follow, follow_letters, scaled_font, small_font
from gui.widgets.code_pair import CodePair
from gui.widgets.code_view import function_rows
from gui.widgets.labels import ElidedLabel, ScrolledText
from gui.widgets.panel_parts import NarrowBox, PlaceholderStack, boxed, column, fill_box, quiet_label, row

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
        self._course, self._state = course, state
        self.choice = NarrowBox("Table of the paper", _CHOICE_TIP, 8)
        self.table = CourseTableView()
        self._figure_column = column()
        self.figure_place = boxed(self._figure_column)
        margins = GRID, HALF_GRID, GRID, HALF_GRID
        self.notes = ScrolledText("Notes", _FEWEST_LINES, _FEWEST_LINES + 1, margins)
        self._beside = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        self.stack = PlaceholderStack(self._beside)
        self.choice.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        bar = row((self.choice, 1), margins=(GRID, HALF_GRID, GRID, 0))
        self._beside.addWidget(self.table)
        self._beside.addWidget(self.figure_place)
        # It takes what is left.
        self.stack.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.stack.setMinimumHeight(10 * GRID)
        self.setLayout(column(bar, (self.stack, 1), self.notes, spacing=HALF_GRID))
        self.choice.currentIndexChanged.connect(self._show_table)
        course.tables_changed.connect(self._follow)
        state.ready_changed.connect(self._show_table)
        # The arrow keys scroll them.
        self.notes.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        follow(self._show_paper, course.paper_changed)

    @property
    def shown(self) -> CourseTable | None:
        tables, at = self._course.tables(self._course.key), self.choice.currentIndex()
        return tables[at] if 0 <= at < len(tables) else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()
        line = QFontMetrics(small_font()).lineSpacing()
        self.notes.set_most(int(self.height() * _NOTES_SHARE) // line)

    def copy(self) -> None:
        if self.shown:
            QGuiApplication.clipboard().setText(tabs_of(self.shown))
            self.copied.emit(len(self.shown.rows))

    def _follow(self, key: str) -> None:
        if self._course.key == key:
            self._show_paper(max(self.choice.currentIndex(), 0))

    def _show_paper(self, at: int = 0) -> None:
        tables = self._course.tables(self._course.key)
        titles = dict(enumerate(table.title for table in tables))
        fill_box(self.choice, titles, min(at, len(tables) - 1))
        self.choice.setEnabled(bool(tables))
        self._show_table()

    def _show_table(self) -> None:
        table, key = self.shown, self._course.key
        known = self._course.known(key)
        self.stack.say("" if table else known.problem or _COUNTING if key else _NO_PAPER)
        self.table.show_table(table)
        notes: list[str] = []
        if table is not None:
            is_offered = self._state.lacks_gpu and not self._state.shows_recorded
            if is_offered and any(cell.reason for row in table.rows for cell in row):
                notes.append(OFFER)
            notes += reasons_of(table)
            # The other cells already have the reason why nothing can fill them.
            if not known.measured and can_be_filled(table):
                notes.append(_RUN_FIRST)
            notes += map(plain, table.notes)
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


class FunctionPanel(QWidget):
    """Shows one function at a time; of what a paper prints, what it calls our names."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        self._wanted = ""
        self.choice = NarrowBox("Kernel or step whose code is shown", _CODE_TIP, 16)
        self.where = quiet_label(small=True, wraps=True)
        self.names = quiet_label(small=True, wraps=True)
        self.views = CodePair("Our code", "", 0)
        self.stack = PlaceholderStack(self.views)
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
        follow(self._take_paper, course.paper_changed)
        course.tables_changed.connect(self._take)

    @property
    def shown(self) -> Excerpt | None:
        excerpts, at = self._course.excerpts(self._course.key), self.choice.currentIndex()
        return excerpts[at] if 0 <= at < len(excerpts) else None

    def show_code_of(self, about: str) -> None:
        """Show the code of a kernel of the paper, or of a step, as soon as it is there."""
        self._wanted = about
        self._take()

    def _take_paper(self) -> None:
        self._wanted = ""
        self.choice.setCurrentIndex(-1)
        self._take()

    def _take(self) -> None:
        """Offer what is known; what is shown stays, unless something else is wanted and there."""
        excerpts, shown = self._course.excerpts(self._course.key), self.choice.currentText()
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
        problem = self._course.known(self._course.key).code_problem
        self.stack.say("" if one else problem or (_LOOKING if paper else _NO_CODE))
        names = {kernel.name: kernel.names for kernel in paper.kernels} if paper else {}
        ours = names.get(one.about, {}) if one else {}
        pairs = ", ".join(f"{theirs} is {name}" for name, theirs in ours.items())
        self.names.setText(f"In the paper: {pairs}.")
        self.names.setVisible(bool(pairs))
        self.where.setVisible(one is not None)
        if one is None:
            return
        self.where.setText(f"{one.code}: {one.where}")
        self.views.show_code(function_rows(one.function))
        self.views.left.mark(one.lit)


_MOST_LINES = 8
_PAPERS_WIDTH = 31 * GRID
_LOAD = "Load copies a kernel to the page that runs it"
_FILLS = "Run (Ctrl+R) fills {} on this machine"
_MEASURED = "this machine has measured its tables, and empty cells say why"
_RUN_DOES = (
    "Runs every kernel of this paper's tables on {}, verifies each result, and puts the figures beside the "
    "printed ones. It may take some minutes; previews wait meanwhile."
)


class PapersList(QListWidget):
    """Chooses the paper that is shown."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        for paper in course.papers:
            item = QListWidgetItem(paper.title, self)
            item.setData(SECOND_ROLE, paper.authors)
            item.setToolTip(plain(paper.about))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{paper.title}, {paper.authors}")
        self.setItemDelegate(TwoLines(self, bold=True))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Papers of the course")
        self.setAccessibleDescription("Arrow keys choose a paper.")
        self.currentRowChanged.connect(lambda row: course.choose(course.papers[row].key if row >= 0 else ""))
        follow(self._show_choice, course.paper_changed)
        follow_letters(self, self._keep_words_whole)

    def _keep_words_whole(self) -> None:
        """Be as wide as the longest word at least: lines break between words only."""
        bold = QFontMetrics(scaled_font(1.0, bold=True))
        words = " ".join(f"{paper.title} {paper.authors}" for paper in self._course.papers).split()
        widest = max((bold.horizontalAdvance(word) for word in words), default=0)
        bar = self.verticalScrollBar().sizeHint().width()
        self.setMinimumWidth(widest + 2 * GRID + bar + 2 * self.frameWidth())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Titles are wrapped, so heights follow the width.
        self.scheduleDelayedItemsLayout()

    def _show_choice(self) -> None:
        if self._course.paper:
            self.setCurrentRow(self._course.papers.index(self._course.paper))


def _paper_header(course: CourseModel) -> QWidget:
    """Return title, authors and source, and what the paper is about; in a low window whole lines go."""
    title, about = (ElidedLabel(most=_MOST_LINES, is_plain=True) for _ in range(2))
    origin = ElidedLabel(most=_MOST_LINES, small=True)
    title.setFont(scaled_font(1.25, bold=True))

    def show() -> None:
        if (paper := course.paper) is not None:
            title.setText(paper.title)
            origin.setText(" · ".join(filter(None, (paper.authors, paper.source))))
            about.setText(plain(paper.about))

    follow(show, course.paper_changed)
    margins = GRID, GRID, GRID, HALF_GRID
    return boxed(column(title, origin, about, spacing=HALF_GRID // 2, margins=margins))


class CoursePage(Page):
    """The papers of the course. Built when it is first shown, so nothing of it delays the window."""

    sections: ClassVar = {"": "course.md"}

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.course = course = CourseModel()
        self.courses = CourseController(course, services, services.messages.on(self))
        self._services = services
        tools = "show_recorded", "copy_results", "save_results"
        self.tools = tuple(Tool(services.actions[name]) for name in tools)
        course.measured_changed.connect(self.edited)
        self.papers = PapersList(course)
        self.header = _paper_header(course)
        self.kernels = KernelsTable(course)
        self.kernels.load_wanted.connect(services.offer)
        self.kernels.code_wanted.connect(lambda kernel: self._show_code(kernel.name))
        self._lay_out()
        course.paper_changed.connect(self._look_up_code)
        self.shown.connect(self.papers.setFocus)
        # Later than the header, which takes the paper at the same signal.
        course.paper_changed.connect(self.status_changed)
        course.paper_changed.connect(self._halves.fit)
        for changed in (course.tables_changed, services.state.machine_changed):
            changed.connect(lambda *_: self.status_changed.emit())
        if course.papers:
            course.choose(course.papers[0].key)

    @cached_property
    def tables(self) -> TablesPanel:
        """The paper's tables, made after the kernels above them."""
        services = self._services
        made = TablesPanel(self.course, services.state)
        made.copied.connect(services.messages.report_copied)
        made.table.code_wanted.connect(lambda excerpt: self._show_code(excerpt.about))
        return made

    @cached_property
    def code(self) -> FunctionPanel:
        """The code of the paper, made when it is first visible."""
        return FunctionPanel(self.course)

    @property
    def status(self) -> PageStatus:
        paper, machine = self.course.paper, self._services.state.machine
        known = self.course.known(self.course.key)
        # Some papers' tables are counted, but for one.
        filled, count = sum(map(can_be_filled, known.tables)), len(known.tables)
        has_tables, which = count > 0, f"{filled} of the {count} tables" if filled < count else "the tables"
        return PageStatus(
            sentence=f"{_LOAD}; {_MEASURED if known.measured else _FILLS.format(which)}.",
            run_does=_RUN_DOES.format(machine.title if machine else "this machine"),
            why_no_run="" if paper else "Choose a paper first.",
            has_results=has_tables,
            can_copy=has_tables,
            caption=paper.title if paper else "",
        )

    @property
    def is_complete(self) -> bool:
        known = self.course.known(self.course.key)
        return bool(known.tables or known.problem)

    @property
    def work_results(self) -> tuple[Any, ...]:
        # Tables without results are work too.
        return tuple(result for one in self.course.measured.values() for result in one.results or (one,))

    @property
    def session_part(self) -> Mapping[str, Any]:
        return part_of(self.course)

    def take_session_part(self, part: Mapping[str, Any]) -> None:
        show_part(self.course, part)

    def run(self) -> None:
        self.courses.measure(self.course.key)

    def copy_results(self) -> None:
        self.tables.copy()

    def save_results(self) -> None:
        save = partial(self.courses.save, self.course.key)
        self._services.files.ask_for_folder("Folder for the paper's tables", save)

    def _show_code(self, about: str) -> None:
        self.code.show_code_of(about)
        self.bring_to_front("code")

    def _look_up_code(self) -> None:
        if self.panel("code").isVisible():
            self.courses.look_up_code()

    def _lay_out(self) -> None:
        papers = PanelTabs(Panel("papers", "Papers", self.papers))
        buttons = self.kernels.load_button, self.kernels.code_button
        head = row((self.header, 1), *buttons, spacing=HALF_GRID, margins=(0, 0, GRID, HALF_GRID))
        for button in buttons:
            head.setAlignment(button, Qt.AlignmentFlag.AlignBottom)
        kernels = boxed(column(head, (self.kernels, 1), spacing=0))
        code = Slot(lambda: self.code)
        code.visibility_changed.connect(self._look_up_code)
        tables = Slot(lambda: self.tables, "gui.widgets.plot")
        below = PanelTabs(Panel("tables", "Tables", tables), Panel("code", "Code", code))

        def needed() -> int:
            return self.header.heightForWidth(self.header.width()) + self.kernels.needed_height

        sides = Qt.Orientation
        self._halves = Shares("halves", sides.Vertical, Share(kernels, 0.0, needed), Share(below, 1.0))
        shares = Share(papers, 0.0, _PAPERS_WIDTH), Share(self._halves, 1.0)
        self.fill(Shares("page", sides.Horizontal, *shares), kernels, papers, below)


build = CoursePage
