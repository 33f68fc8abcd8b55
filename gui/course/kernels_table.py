"""Which kernel is which: the paper's names and the variants here; the selected one is loaded, or read."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QTableWidget, QTableWidgetItem

from engine.course.paper import CourseKernel
from engine.geometry.layout import Layout
from gui.course.course_model import CourseModel
from gui.course.two_lines import SECOND_ROLE, VARIANT_ROLE, TwoLines, plain
from gui.style.metrics import follow_letters
from gui.widgets.panel_parts import dress_table, text_button

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
# Of each column its heading, its tooltip, and its share of the width.
_COLUMNS = (
    ("In the paper", "What the paper calls the kernel, and where it is.", 0.28),
    ("Here", "The variant that does the same, in its colour and shape, and what is loaded with it.", 0.29),
    ("What differs", "What is not as in the paper, and why.", 0.43),
)


def configuration_text(kernel: CourseKernel) -> str:
    """Return how a kernel is run, without its variant, in a line."""
    block = str(kernel.block or "")
    if kernel.is_product:
        return f"tile {block}" if block else ""
    if not kernel.is_filter:
        return f"stage of the {kernel.task}"
    layout = "" if kernel.layout == Layout.PITCHED else f"rows {kernel.layout}"
    return ", ".join(filter(None, (kernel.mask, block, f"border {kernel.border}", layout)))


class KernelsTable(QTableWidget):
    """One row per kernel; Enter, a double click and `load_button` load the configuration of the selected one.

    Both buttons are laid out by the page.
    """

    load_wanted = Signal(object)  # the person wants the configuration of this CourseKernel
    code_wanted = Signal(object)  # or its code

    def __init__(self, course: CourseModel) -> None:
        super().__init__(0, len(_COLUMNS))
        self._course = course
        self.setItemDelegate(TwoLines(self))
        self.load_button = text_button("load", "Load", "Load the selected kernel", "")
        self.code_button = text_button("code-tags", "Code", "Code of the selected kernel", "")
        for button in (self.load_button, self.code_button):
            # Before it is laid out: shown without a parent it would be a window.
            button.setParent(self)
            button.setAutoRaise(False)
        self._build()
        self.load_button.clicked.connect(self._load)
        self.code_button.clicked.connect(lambda: self.code_wanted.emit(self.kernel(self.currentRow())))
        self.itemSelectionChanged.connect(self._explain_buttons)
        self.doubleClicked.connect(self._load)
        course.paper_changed.connect(self._show_kernels)
        self._show_kernels()
        follow_letters(self, self._share_width)

    def kernel(self, row: int) -> CourseKernel:
        """Return the kernel of a row."""
        assert self._course.paper is not None
        return self._course.paper.kernels[row]

    @property
    def needed_height(self) -> int:
        """Height of all rows and the header, pixels."""
        return self.horizontalHeader().height() + self.verticalHeader().length() + 2 * self.frameWidth()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER and self.currentIndex().isValid():
            self._load()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_width()

    def _load(self) -> None:
        self.load_wanted.emit(self.kernel(self.currentRow()))

    def _share_width(self) -> None:
        for column, (_heading, _tip, share) in enumerate(_COLUMNS):
            self.setColumnWidth(column, int(self.viewport().width() * share))
        self.resizeRowsToContents()

    def _build(self) -> None:
        dress_table(self, "Which kernel is which")
        self.setAlternatingRowColors(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleDescription("Enter loads the kernel of a row.")
        self.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QTableWidget.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrap(True)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setSectionsClickable(False)
        for column, (heading, tip, _share) in enumerate(_COLUMNS):
            header = QTableWidgetItem(heading)
            header.setToolTip(tip)
            header.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            self.setHorizontalHeaderItem(column, header)

    def _show_kernels(self) -> None:
        kernels = self._course.paper.kernels if self._course.paper else ()
        self.setRowCount(0)
        self.setRowCount(len(kernels))
        for row, kernel in enumerate(kernels):
            difference = plain(kernel.difference) or "Nothing."
            texts = (
                (kernel.name, kernel.place),
                (kernel.variant, configuration_text(kernel)),
                (difference, ""),
            )
            for column, (first, second) in enumerate(texts):
                item = QTableWidgetItem(first)
                item.setData(SECOND_ROLE, second)
                item.setData(VARIANT_ROLE, kernel.variant if column == 1 else None)
                item.setData(Qt.ItemDataRole.AccessibleTextRole, ", ".join(filter(None, (first, second))))
                item.setToolTip(f"Double click or Enter loads {kernel.name}.")
                self.setItem(row, column, item)
        self._share_width()
        self.setCurrentCell(0, 0)
        self._explain_buttons()
        self.scrollToTop()

    def _explain_buttons(self) -> None:
        """Say what the buttons do with the selected kernel."""
        is_one = self.currentRow() >= 0
        for button in (self.load_button, self.code_button):
            button.setEnabled(is_one)
        if is_one:
            kernel = self.kernel(self.currentRow())
            does = f"Load this configuration ({kernel.variant}) and show it on its page (Enter)."
            self.load_button.setToolTip(does)
            beside = ", beside it with the paper's names" if kernel.names else ""
            self.code_button.setToolTip(f"Show the code of {kernel.variant}{beside}.")
