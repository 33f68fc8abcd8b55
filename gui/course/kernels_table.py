"""Which kernel is which: the paper's names, the variants here, and buttons that load one or show its code."""

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QTableView, QToolButton, QWidget

from gui.course.course_model import CourseModel
from gui.course.kernels_model import Column, KernelsModel
from gui.course.two_lines import TwoLines
from gui.engine_link.engine_state import EngineState
from gui.style.letters import follow_letters
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.panel_parts import dress_table, text_button
from gui.widgets.panel_parts import row as layout_row

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
# Name and source, variant and configuration, what differs.
_WIDTH_FRACTIONS = {Column.PAPER: 0.28, Column.HERE: 0.29, Column.DIFFERENCE: 0.43}


class KernelsTable(QTableView):
    """One row per kernel; the first button, Enter and a double click load its configuration."""

    load_wanted = Signal(object)  # the person wants the configuration of this CourseKernel
    code_wanted = Signal(object)  # or its code

    def __init__(self, course: CourseModel, state: EngineState) -> None:
        super().__init__()
        self.kernels = KernelsModel(course, state, self)
        self.setModel(self.kernels)
        self.setItemDelegate(TwoLines(self))
        self._build()
        self.doubleClicked.connect(lambda index: self.load(index.row()))
        self.kernels.refreshed.connect(self._show_kernels)
        self._show_kernels()
        follow_letters(self, self._share_width)

    def load(self, row: int) -> None:
        """Ask for the configuration of a row, if it can be loaded."""
        if not self.kernels.reason(row):
            self.load_wanted.emit(self.kernels.kernel(row))

    def button(self, row: int) -> QToolButton:
        """Return the button of a row that loads its kernel."""
        return self._buttons(row)[0]

    def code_button(self, row: int) -> QToolButton:
        """Return the button of a row that shows its code."""
        return self._buttons(row)[1]

    def _buttons(self, row: int) -> list[QToolButton]:
        return self.indexWidget(self.kernels.index(row, Column.LOAD)).findChildren(QToolButton)

    def _width_of_buttons(self, row: int) -> int:
        buttons = self._buttons(row)
        for button in buttons:
            # Before that they do not know their font.
            button.ensurePolished()
        # Their margins and the gap between them, and those of a cell.
        around = (len(buttons) + 1) * HALF_GRID + 2 * GRID
        return sum(button.sizeHint().width() for button in buttons) + around

    def _want_code(self, row: int) -> None:
        self.selectRow(row)
        self.code_wanted.emit(self.kernels.kernel(row))

    @property
    def needed_height(self) -> int:
        """Height of all rows and the header, pixels."""
        return self.horizontalHeader().height() + self.verticalHeader().length() + 2 * self.frameWidth()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER and self.currentIndex().isValid():
            self.load(self.currentIndex().row())
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()

    def _share_width(self) -> None:
        """Give the buttons what they need with the letters as they are, and the texts the rest."""
        of_buttons = max(map(self._width_of_buttons, range(self.kernels.rowCount())), default=0)
        room = self.viewport().width() - of_buttons
        for column, share in _WIDTH_FRACTIONS.items():
            self.setColumnWidth(column, int(room * share))
        self.setColumnWidth(Column.LOAD, of_buttons)
        self.resizeRowsToContents()

    def _build(self) -> None:
        dress_table(self, "Which kernel is which")
        self.setAlternatingRowColors(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleDescription("Enter loads the kernel of a row.")
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrap(True)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setSectionsClickable(False)

    def _show_kernels(self) -> None:
        before: QWidget = self
        for row in range(self.kernels.rowCount()):
            self.setIndexWidget(self.kernels.index(row, Column.LOAD), self._made_buttons(row))
            # They are made after the widgets below, and would come last.
            for button in self._buttons(row):
                self.setTabOrder(before, button)
                before = button
        self._share_width()
        if self.kernels.rowCount():
            flags = QItemSelectionModel.SelectionFlag
            row_only = flags.ClearAndSelect | flags.Rows
            self.selectionModel().setCurrentIndex(self.kernels.index(0, 0), row_only)
        self.scrollToTop()

    def _made_buttons(self, row: int) -> QWidget:
        kernel, reason = self.kernels.kernel(row), self.kernels.reason(row)
        does = f"Load this configuration ({kernel.here.variant}) and show it on its page (Enter)."
        button = text_button("load", "Load", f"Load {kernel.name}", reason or does)
        button.setAutoRaise(False)
        button.setEnabled(not reason)
        button.clicked.connect(lambda: self.load(row))
        shows = f"Show the code of {kernel.here.variant}"
        shows += ", beside it with the paper's names." if kernel.names else "."
        code = text_button("code-tags", "Code", f"Code of {kernel.name}", shows)
        code.setAutoRaise(False)
        code.clicked.connect(lambda: self._want_code(row))
        cell = QWidget()
        margins = HALF_GRID, HALF_GRID, HALF_GRID, HALF_GRID
        line = layout_row(1, button, code, spacing=HALF_GRID, margins=margins)
        for one in (button, code):
            line.setAlignment(one, Qt.AlignmentFlag.AlignTop)
        cell.setLayout(line)
        return cell
