"""Which kernel of a paper is which here, as an item model, and why one cannot be loaded."""

from collections.abc import Iterable
from enum import IntEnum

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel

from engine.course.paper import CourseKernel
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.resolve import resolve_mask
from gui.course.course_model import CourseModel
from gui.engine_link.engine_state import EngineState

SECOND_ROLE = Qt.ItemDataRole.UserRole
VARIANT_ROLE = Qt.ItemDataRole.UserRole + 1
REASON_ROLE = Qt.ItemDataRole.UserRole + 2


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


def plain(markdown: str) -> str:
    """Return a text without the back quotes of keys, which are for Markdown."""
    return markdown.replace("`", "")


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
