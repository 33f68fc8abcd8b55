"""Which kernel is which: the paper's names and the variants here; the selected one is loaded, or read."""

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QTableView

from gui.course.course_model import CourseModel
from gui.course.kernels_model import Column, KernelsModel
from gui.course.two_lines import TwoLines
from gui.engine_link.engine_state import EngineState
from gui.style.letters import follow_letters
from gui.widgets.panel_parts import dress_table, text_button

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
# Name and source, variant and configuration, what differs.
_WIDTH_FRACTIONS = {Column.PAPER: 0.28, Column.HERE: 0.29, Column.DIFFERENCE: 0.43}


class KernelsTable(QTableView):
    """One row per kernel; Enter, a double click and `load_button` load the configuration of the selected one.

    Both buttons are laid out by the page.
    """

    load_wanted = Signal(object)  # the person wants the configuration of this CourseKernel
    code_wanted = Signal(object)  # or its code

    def __init__(self, course: CourseModel, state: EngineState) -> None:
        super().__init__()
        self.kernels = KernelsModel(course, state, self)
        self.setModel(self.kernels)
        self.setItemDelegate(TwoLines(self))
        self.load_button = text_button("load", "Load", "Load the selected kernel", "")
        self.code_button = text_button("code-tags", "Code", "Code of the selected kernel", "")
        for button in (self.load_button, self.code_button):
            # Before it is laid out: shown without a parent it would be a window.
            button.setParent(self)
            button.setAutoRaise(False)
        self._build()
        self.load_button.clicked.connect(lambda: self.load(self.currentIndex().row()))
        self.code_button.clicked.connect(
            lambda: self.code_wanted.emit(self.kernels.kernel(self.currentIndex().row()))
        )
        self.selectionModel().currentRowChanged.connect(self._explain_buttons)
        self.doubleClicked.connect(lambda index: self.load(index.row()))
        self.kernels.refreshed.connect(self._show_kernels)
        self._show_kernels()
        follow_letters(self, self._share_width)

    def load(self, row: int) -> None:
        """Ask for the configuration of a row, if it can be loaded."""
        if not self.kernels.reason(row):
            self.load_wanted.emit(self.kernels.kernel(row))

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
        for column, share in _WIDTH_FRACTIONS.items():
            self.setColumnWidth(column, int(self.viewport().width() * share))
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
        self._share_width()
        if self.kernels.rowCount():
            flags = QItemSelectionModel.SelectionFlag
            row_only = flags.ClearAndSelect | flags.Rows
            self.selectionModel().setCurrentIndex(self.kernels.index(0, 0), row_only)
        self._explain_buttons()
        self.scrollToTop()

    def _explain_buttons(self) -> None:
        """Say what the buttons do with the selected kernel, or why they cannot."""
        current = self.currentIndex()
        for button in (self.load_button, self.code_button):
            button.setEnabled(current.isValid())
        if not current.isValid():
            return
        kernel, reason = self.kernels.kernel(current.row()), self.kernels.reason(current.row())
        does = f"Load this configuration ({kernel.variant}) and show it on its page (Enter)."
        self.load_button.setToolTip(reason or does)
        self.load_button.setEnabled(not reason)
        beside = ", beside it with the paper's names" if kernel.names else ""
        self.code_button.setToolTip(f"Show the code of {kernel.variant}{beside}.")
