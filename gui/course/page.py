"""Course: papers; the kernels of one, its tables with the figures of this machine, and the code of both."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QPalette, QResizeEvent
from PySide6.QtWidgets import QFrame, QListWidget, QListWidgetItem, QWidget

from gui.course.course_model import CourseController, CourseModel, part_of, show_part
from gui.course.kernels_table import SECOND_ROLE, KernelsTable, TwoLines, plain
from gui.course.tables_panel import CodePanel, TablesPanel, can_be_filled
from gui.page.contract import LoadKernel, Page, PageStatus, Services, Tool
from gui.page.panels import Panel, PanelTabs, Share, Shares
from gui.page.slot import Slot
from gui.style.metrics import GRID, HALF_GRID, follow_letters, scaled_font
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import column, row

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
        self.currentRowChanged.connect(self._choose)
        course.paper_changed.connect(self._show_choice)
        self._show_choice()
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

    def _choose(self, row: int) -> None:
        if row >= 0:
            self._course.choose(self._course.papers[row].key)

    def _show_choice(self) -> None:
        if self._course.paper:
            self.setCurrentRow(self._course.papers.index(self._course.paper))


class PaperHeader(QWidget):
    """Title, authors, source, and what the paper is about."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        # In a low window whole lines are left out.
        self.origin = ElidedLabel(most=_MOST_LINES, small=True)
        self.title, self.about = ElidedLabel(most=_MOST_LINES), ElidedLabel(most=_MOST_LINES)
        self.title.setFont(scaled_font(1.25, bold=True))
        for label in (self.title, self.about):
            label.setForegroundRole(QPalette.ColorRole.WindowText)
        labels = self.title, self.origin, self.about
        self.setLayout(column(*labels, spacing=HALF_GRID // 2, margins=(GRID, GRID, GRID, HALF_GRID)))
        course.paper_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        paper = self._course.paper
        self.title.setText(paper.title if paper else "")
        self.origin.setText(" · ".join(filter(None, (paper.authors, paper.source))) if paper else "")
        self.about.setText(plain(paper.about) if paper else "")


class CoursePage(Page):
    """The papers of the course. Built when it is first shown, so nothing of it delays the window."""

    sections: ClassVar = {"": "course.md"}

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.course = course = CourseModel()
        parts = services.state, services.link, services.jobs, services.messages.on(self)
        self.courses = CourseController(course, *parts)
        self._services = services
        tools = "show_recorded", "copy_results", "save_results"
        self.tools = tuple(Tool(services.actions[name]) for name in tools)
        course.measured_changed.connect(self.edited)
        self.papers = PapersList(course)
        self.header = PaperHeader(course)
        self.kernels = KernelsTable(course)
        self.kernels.load_wanted.connect(lambda kernel: services.offer(LoadKernel(kernel)))
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
    def code(self) -> CodePanel:
        """The code of the paper, made when it is first looked at."""
        return CodePanel(self.course)

    @property
    def status(self) -> PageStatus:
        paper, machine = self.course.paper, self._services.state.machine
        has_tables = paper is not None and bool(self.course.tables(paper.key))
        return PageStatus(
            sentence=f"{_LOAD}; {self._what_run_does}.",
            run_does=_RUN_DOES.format(machine.title if machine else "this machine"),
            why_no_run="" if paper else "Choose a paper first.",
            has_results=has_tables,
            can_copy=has_tables,
            caption=paper.title if paper else "",
        )

    @property
    def _what_run_does(self) -> str:
        """Say which tables a run fills: some papers' are counted, but for one."""
        known = self.course.known(self.course.paper.key if self.course.paper else "")
        if known.is_measured:
            return _MEASURED
        all_tables, filled = len(known.tables), sum(map(can_be_filled, known.tables))
        is_some = filled < all_tables
        return _FILLS.format(f"{filled} of the {all_tables} tables" if is_some else "the tables")

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
        if self.course.paper:
            self.courses.measure(self.course.paper.key)

    def copy_results(self) -> None:
        self.tables.copy()

    def save_results(self) -> None:
        if self.course.paper:
            key = self.course.paper.key
            self._services.files.ask_for_folder(
                "Folder for the paper's tables", lambda folder: self.courses.save(key, folder)
            )

    def _show_code(self, about: str) -> None:
        self.code.show_code_of(about)
        self.bring_to_front("code")

    def _look_up_code(self) -> None:
        if self.panel("code").isVisible():
            self.courses.look_up_code()

    def _needed_height(self) -> int:
        """Return the height of the kernels of the paper."""
        return self.header.heightForWidth(self.header.width()) + self.kernels.needed_height

    def _lay_out(self) -> None:
        papers = PanelTabs(Panel("papers", "Papers", self.papers))
        buttons = self.kernels.load_button, self.kernels.code_button
        head = row((self.header, 1), *buttons, spacing=HALF_GRID, margins=(0, 0, GRID, HALF_GRID))
        for button in buttons:
            head.setAlignment(button, Qt.AlignmentFlag.AlignBottom)
        kernels = QWidget()
        kernels.setLayout(column(head, (self.kernels, 1), spacing=0))
        code = Slot(lambda: self.code)
        code.looked_at.connect(self._look_up_code)
        tables = Slot(lambda: self.tables, "gui.widgets.plot")
        below = PanelTabs(Panel("tables", "Tables", tables), Panel("code", "Code", code))
        self._halves = Shares(
            "halves", Qt.Orientation.Vertical, Share(kernels, 0.0, self._needed_height), Share(below, 1.0)
        )
        whole = Shares(
            "page", Qt.Orientation.Horizontal, Share(papers, 0.0, _PAPERS_WIDTH), Share(self._halves, 1.0)
        )
        self.fill(whole, kernels, papers, below)


build = CoursePage
