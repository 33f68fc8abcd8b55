"""Which kernel is which: the paper's names and the variants here; the selected one is loaded, or read."""

from collections.abc import Iterable
from enum import IntEnum

from PySide6.QtCore import QItemSelectionModel, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QFrame, QHeaderView, QTableView

from engine.course.paper import CourseKernel
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.resolve import resolve_mask
from gui.course.course_model import CourseModel
from gui.course.two_lines import REASON_ROLE, SECOND_ROLE, VARIANT_ROLE, TwoLines, plain
from gui.engine_link.engine_state import EngineState
from gui.style.metrics import follow_letters
from gui.widgets.panel_parts import dress_table, text_button


class Column(IntEnum):
    """The columns."""

    PAPER = 0
    HERE = 1
    DIFFERENCE = 2


# Column: its heading and tooltip.
_HEADERS = {
    Column.PAPER: ("In the paper", "What the paper calls the kernel, and where it is."),
    Column.HERE: (
        "Here",
        "The variant that does the same, in its colour and shape, and what is loaded with it.",
    ),
    Column.DIFFERENCE: ("What differs", "What is not as in the paper, and why."),
}


def why_not_loadable(kernel: CourseKernel, variants: Iterable[str]) -> str:
    """Return why a kernel cannot be loaded, in words; empty if it can.

    Whether this machine can run it is for the page that loads it to say.
    """
    if not kernel.is_filter:
        return ""
    known = tuple(variants)
    if not known:
        return "The engine is still starting."
    if kernel.variant not in known:
        return f"This version of Haloscope has no variant {kernel.variant}."
    if kernel.border not in set(Border):
        return f"There is no border called {kernel.border}."
    if kernel.layout not in set(Layout):
        return f"There is no layout called {kernel.layout}."
    try:
        resolve_mask(kernel.mask)
    except EngineError as error:
        return str(error)
    return ""


def configuration_text(kernel: CourseKernel) -> str:
    """Return how a kernel is run, without its variant, in a line."""
    block = str(kernel.block or "")
    if kernel.is_product:
        return f"tile {block}" if block else ""
    if not kernel.is_filter:
        return f"stage of the {kernel.task}"
    layout = "" if kernel.layout == Layout.PITCHED else f"rows {kernel.layout}"
    return ", ".join(filter(None, (kernel.mask, block, f"border {kernel.border}", layout)))


class KernelsModel(QStandardItemModel):
    """The kernels of the paper that is shown."""

    refreshed = Signal()  # the rows were made anew

    def __init__(self, course: CourseModel, state: EngineState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._course = course
        self._state = state
        self._rows: tuple[tuple[CourseKernel, str], ...] = ()
        for column, (title, tip) in _HEADERS.items():
            header = QStandardItem(title)
            header.setToolTip(tip)
            header.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            self.setHorizontalHeaderItem(column, header)
        course.paper_changed.connect(self._refresh)
        state.ready_changed.connect(self._refresh)
        self._refresh()

    def kernel(self, row: int) -> CourseKernel:
        """Return the kernel of a row."""
        return self._rows[row][0]

    def reason(self, row: int) -> str:
        """Return why the kernel of a row cannot be loaded; empty if it can."""
        return self._rows[row][1]

    def _refresh(self) -> None:
        paper = self._course.paper
        variants = [variant.key for variant in self._state.variants]
        kernels = paper.kernels if paper else ()
        rows = tuple((kernel, why_not_loadable(kernel, variants)) for kernel in kernels)
        if rows == self._rows:
            return
        self._rows = rows
        self.setRowCount(0)
        for kernel, reason in rows:
            # Until the engine has named its variants, nothing is known to be missing.
            self.appendRow(_items(kernel, reason, lasting=reason if variants else ""))
        self.refreshed.emit()


def _items(kernel: CourseKernel, reason: str, lasting: str) -> list[QStandardItem]:
    difference = lasting or plain(kernel.difference) or "Nothing."
    texts = {
        Column.PAPER: (kernel.name, kernel.place),
        Column.HERE: (kernel.variant, configuration_text(kernel)),
        Column.DIFFERENCE: (difference, ""),
    }
    tip = (
        f"{kernel.name} cannot be loaded. {reason}"
        if reason
        else f"Double click or Enter loads {kernel.name}."
    )
    items = []
    for first, second in texts.values():
        item = QStandardItem(first)
        item.setData(second, SECOND_ROLE)
        item.setData(lasting, REASON_ROLE)
        item.setAccessibleText(", ".join(filter(None, (first, second))))
        item.setToolTip(tip)
        items.append(item)
    items[Column.HERE].setData(kernel.variant, VARIANT_ROLE)
    return items


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
