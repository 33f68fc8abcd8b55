"""Course: the list of papers; a paper's kernels, and its tables with this machine's figures."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QLayout, QSplitter, QTabWidget, QWidget

from engine.course.paper import CourseKernel, Excerpt
from gui.course.code_panel import CodePanel
from gui.course.course_controller import CourseController
from gui.course.course_model import CourseModel
from gui.course.kernels_table import KernelsTable
from gui.course.papers import PaperHeader, PapersList
from gui.course.session_part import part_of, show_part
from gui.course.tables_panel import TablesPanel
from gui.page.contract import Page, PageStatus, Services
from gui.page.slides_saving import save_slides
from gui.page.slot import Slot
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import column, quiet_label, row

_PAPERS_WIDTH = 31 * GRID
# The kernels above take what they need, but leave the tables below more than half of the height.
_MOST_KERNELS_HEIGHT = 0.45
# Of the tabs.
_CODE = 1
_STATUS = "Load copies a kernel to the page that runs it; Measure on this machine (Ctrl+R) fills the tables."


class CoursePage(Page):
    """The papers of the course. Built when it is first shown, so nothing of it delays the window."""

    sections: ClassVar = {
        "": "course.md",
    }

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.course = course = CourseModel()
        self.courses = CourseController(
            course,
            services.state,
            services.link,
            services.jobs,
            services.messages.on(self),
            services.offer,
        )
        self._services = services
        course.measured_changed.connect(self.edited)
        self.papers = PapersList(course)
        self.header = PaperHeader(course)
        self.kernels = KernelsTable(course, services.state)
        self.kernels.load_wanted.connect(self.courses.load)
        self.kernels.code_wanted.connect(self._show_code_of_kernel)
        self.tabs = QTabWidget()
        self.tabs.currentChanged.connect(self._look_up_code)
        course.paper_changed.connect(self._look_up_code)
        self._sides = QSplitter(Qt.Orientation.Horizontal)
        self._halves = QSplitter(Qt.Orientation.Vertical)
        self._build()
        self._is_moved = False
        self.shown.connect(self.papers.setFocus)
        self._halves.installEventFilter(self)
        self._halves.splitterMoved.connect(self._note_moved)
        # Later than the header, which takes the paper at the same signal.
        course.paper_changed.connect(self.status_changed)
        course.paper_changed.connect(self._share_height)
        course.tables_changed.connect(lambda _key: self.status_changed.emit())
        self.kernels.kernels.refreshed.connect(self._share_height)
        if course.papers:
            course.choose(course.papers[0].key)

    @cached_property
    def tables(self) -> TablesPanel:
        """The paper's tables, made after the kernels above them."""
        services = self._services
        made = TablesPanel(self.course, services.state)
        made.measure.clicked.connect(self.run)
        made.save_button.clicked.connect(self._save)
        made.copied.connect(services.messages.report_copied)
        made.table.code_wanted.connect(self._show_excerpt)
        return made

    @cached_property
    def code(self) -> CodePanel:
        """The code of the paper, made when it is first looked at."""
        made = CodePanel(self.course, self._services.state)
        made.slides_button.clicked.connect(self._save_slides)
        return made

    @property
    def message_area(self) -> QWidget:
        return self.kernels

    @property
    def status(self) -> PageStatus:
        paper = self.course.paper
        return PageStatus(
            sentence=_STATUS,
            run_does="Measures the tables of this paper on this machine.",
            why_no_run="" if paper else "Choose a paper first.",
            can_copy=paper is not None and bool(self.course.tables(paper.key)),
            caption=paper.title if paper else "",
        )

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

    def _save(self) -> None:
        if self.course.paper:
            key = self.course.paper.key
            self._services.files.ask_for_folder(
                "Folder for the paper's tables", lambda folder: self.courses.save(key, folder)
            )

    def _save_slides(self) -> None:
        if self.course.paper:
            measured = self.course.known(self.course.paper.key).results
            save_slides(self._services, measured, self._services.messages.on(self))

    def _show_code_of_kernel(self, kernel: CourseKernel) -> None:
        self._show_code(kernel.name)

    def _show_excerpt(self, excerpt: Excerpt) -> None:
        self._show_code(excerpt.about)

    def _show_code(self, about: str) -> None:
        self.code.show_code_of(about)
        self.tabs.setCurrentIndex(_CODE)

    def _look_up_code(self) -> None:
        if self.tabs.currentIndex() == _CODE:
            self.courses.look_up_code()

    def arrange(self) -> None:
        self._sides.setSizes([_PAPERS_WIDTH, max(1, self.width() - _PAPERS_WIDTH)])
        self._is_moved = False
        self._share_height()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Asked of the splitter itself: the page has its new size before what is in it.
        if event.type() == QEvent.Type.Resize:
            self._share_height()
        return super().eventFilter(watched, event)

    def _share_height(self) -> None:
        """Give the kernels of the paper the height they need, unless the person has moved the splitter."""
        if self._is_moved:
            return
        height = self._halves.height() - self._halves.handleWidth()
        needed = self.header.heightForWidth(self.header.width()) + self.kernels.needed_height
        kernels_height = min(needed, int(height * _MOST_KERNELS_HEIGHT))
        self._halves.setSizes([kernels_height, max(1, height - kernels_height)])

    def _note_moved(self) -> None:
        self._is_moved = True

    def _build(self) -> None:
        title = quiet_label("Papers")
        title.setContentsMargins(GRID, GRID, GRID, GRID)
        buttons = self.kernels.load_button, self.kernels.code_button
        head = row((self.header, 1), *buttons, spacing=HALF_GRID, margins=(0, 0, GRID, HALF_GRID))
        for button in buttons:
            head.setAlignment(button, Qt.AlignmentFlag.AlignBottom)
        self._halves.addWidget(_under(head, self.kernels))
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(Slot(lambda: self.tables, "gui.plots.figure_plot"), "Tables")
        self.tabs.addTab(Slot(lambda: self.code), "Code")
        self._halves.addWidget(self.tabs)
        self._sides.addWidget(_under(title, self.papers))
        self._sides.addWidget(self._halves)
        for splitter in (self._sides, self._halves):
            splitter.setChildrenCollapsible(False)
        self._sides.setStretchFactor(0, 0)
        self._sides.setStretchFactor(1, 1)
        self.setCentralWidget(self._sides)


def _under(head: QWidget | QLayout, body: QWidget) -> QWidget:
    """Return a widget with a body that takes the room below its head."""
    whole = QWidget()
    whole.setLayout(column(head, (body, 1), spacing=0))
    return whole


build = CoursePage
