"""Which kernel of a paper is which here, as a table model."""

from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from engine.course.paper import CourseKernel
from gui.course.course_loading import configuration_text, why_not_loadable
from gui.course.course_model import CourseModel
from gui.engine_link.engine_state import EngineState

Index = QModelIndex | QPersistentModelIndex

SECOND_ROLE = Qt.ItemDataRole.UserRole
VARIANT_ROLE = Qt.ItemDataRole.UserRole + 1
REASON_ROLE = Qt.ItemDataRole.UserRole + 2

_NO_PARENT = QModelIndex()


class Column(IntEnum):
    """The columns."""

    PAPER = 0
    HERE = 1
    DIFFERENCE = 2
    LOAD = 3


_HEADERS = {
    Column.PAPER: ("In the paper", "What the paper calls the kernel, and where it is."),
    Column.HERE: (
        "Here",
        "The variant that does the same, in its colour and shape, and what is loaded with it.",
    ),
    Column.DIFFERENCE: ("What differs", "What is not as in the paper, and why."),
    Column.LOAD: ("", ""),
}


class CourseKernelsModel(QAbstractTableModel):
    """The kernels of the paper that is shown."""

    def __init__(self, course: CourseModel, state: EngineState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._course = course
        self._state = state
        self._kernels: tuple[CourseKernel, ...] = ()
        self._reasons: tuple[str, ...] = ()
        course.paper_changed.connect(self.refresh)
        state.ready_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Read the paper and the engine's variants anew."""
        paper = self._course.paper
        kernels = paper.kernels if paper else ()
        variants = [variant.key for variant in self._state.variants]
        reasons = tuple(why_not_loadable(kernel.here, variants) for kernel in kernels)
        if (kernels, reasons) != (self._kernels, self._reasons):
            self.beginResetModel()
            self._kernels, self._reasons = kernels, reasons
            self.endResetModel()

    def kernel(self, row: int) -> CourseKernel:
        """Return the kernel of a row."""
        return self._kernels[row]

    def reason(self, row: int) -> str:
        """Return why the kernel of a row cannot be loaded; empty if it can."""
        return self._reasons[row]

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._kernels)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(Column)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        kernel, reason = self._kernels[index.row()], self._reasons[index.row()]
        column = Column(index.column())
        # Until the engine has named its variants, nothing is known to be missing.
        lasting = reason if self._state.variants else ""
        if role == REASON_ROLE:
            return lasting
        if role == VARIANT_ROLE and column is Column.HERE:
            return kernel.here.variant
        if role == SECOND_ROLE:
            return {Column.PAPER: kernel.place, Column.HERE: configuration_text(kernel.here)}.get(column, "")
        if role == Qt.ItemDataRole.DisplayRole:
            return {
                Column.PAPER: kernel.name,
                Column.HERE: kernel.here.variant,
                # The same words stand in Markdown, where a key has its ticks.
                Column.DIFFERENCE: lasting or kernel.difference.replace("`", "") or "Nothing.",
            }.get(column, "")
        if role == Qt.ItemDataRole.ToolTipRole:
            return (
                f"{kernel.name} cannot be loaded. {reason}"
                if reason
                else f"Double click or Enter loads {kernel.name}."
            )
        if role == Qt.ItemDataRole.AccessibleTextRole:
            words = (index.data(Qt.ItemDataRole.DisplayRole), index.data(SECOND_ROLE))
            return ", ".join(filter(None, words))
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            return None
        title, tip = _HEADERS[Column(section)]
        if role == Qt.ItemDataRole.DisplayRole:
            return title
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        return None
