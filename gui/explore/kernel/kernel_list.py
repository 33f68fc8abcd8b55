"""The ladder of kernels as a list: as long as the ladder where there is room, else it scrolls."""

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QListView

from gui.explore.kernel.kernel_rows import BESIDE_REASON, ROW_HEIGHT, KernelRows, row_height
from gui.explore.kernel.variants_model import ROW_ROLE, VariantsModel
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID
from gui.style.theme import theme_notifier

Index = QModelIndex | QPersistentModelIndex

# Auto, the variants, and the reasons of those that are mostly greyed: what lies below does not jump when the
# engine lists them.
_EXPECTED_HEIGHT = 26 * ROW_HEIGHT
_FEWEST_ROWS_SHOWN = 5


class KernelList(QListView):
    """Chooses the variant of the workspace."""

    # Key of the variant under the mouse; empty when it left.
    hovered = Signal(str)

    def __init__(self, model: VariantsModel, workspace: Workspace) -> None:
        super().__init__()
        self._variants = model
        self._workspace = workspace
        self._room = 0
        self._ladder_height = 0
        self.setModel(model)
        self.setItemDelegate(KernelRows(workspace, self._reason_width, self))
        self.setMouseTracking(True)
        # A row is as high as its reason needs, and that changes with the width.
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName("Kernel")
        self.setAccessibleDescription("How the filter is computed; arrow keys choose.")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.entered.connect(lambda index: self.hovered.emit(index.data(ROW_ROLE).key))
        self.viewportEntered.connect(lambda: self.hovered.emit(""))
        self.selectionModel().currentChanged.connect(self._choose)
        workspace.settings_changed.connect(self._show_choice)
        model.modelReset.connect(self._show_ladder)
        model.dataChanged.connect(self._show_reasons)
        theme_notifier().changed.connect(self.viewport().update)
        self._show_ladder()

    def sizeHint(self) -> QSize:
        frame = 2 * self.frameWidth()
        least, most = _FEWEST_ROWS_SHOWN * ROW_HEIGHT + frame, self._rows_height() + frame
        return QSize(34 * GRID, min(max(self._room, least), most))

    def minimumSizeHint(self) -> QSize:
        return QSize(24 * GRID, self.sizeHint().height())

    def set_room(self, height: int) -> None:
        """Set how many pixels the list may take; a few rows are shown in any case."""
        before = self.sizeHint()
        self._room = height
        if self.sizeHint() != before:
            self.setMaximumHeight(self.sizeHint().height())
            self.updateGeometry()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_ladder()
        # Not the current one: a greyed kernel, which a session or a paper may bring, is never that.
        self.scrollTo(self._chosen())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # The arrows pass over greyed rows, so without a mouse their reasons would stay out of sight.
        steps = {Qt.Key.Key_PageUp: -1, Qt.Key.Key_PageDown: 1}.get(Qt.Key(event.key()), 0)
        bar = self.verticalScrollBar()
        if steps and event.modifiers() == Qt.KeyboardModifier.NoModifier:
            bar.setValue(bar.value() + steps * (bar.pageStep() - ROW_HEIGHT))
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.hovered.emit("")
        super().leaveEvent(event)

    def _choose(self, current: Index, _previous: Index) -> None:
        if current.isValid() and current.flags() & Qt.ItemFlag.ItemIsSelectable:
            self._workspace.change(variant=current.data(ROW_ROLE).key)

    def _reason_width(self) -> int:
        """Return how wide a reason may be, so that its lines stay when a scroll bar appears."""
        bar = self.verticalScrollBar().sizeHint().width()
        return max(GRID, self.width() - 2 * self.frameWidth() - bar - BESIDE_REASON)

    def _rows_height(self) -> int:
        width = self._reason_width()
        return max(_EXPECTED_HEIGHT, sum(row_height(row.under, width) for row in self._variants.rows()))

    def _show_ladder(self) -> None:
        self._fit_ladder()
        self._show_choice()

    def _show_reasons(self) -> None:
        # Rows may have changed their heights though the sum is the same.
        self.scheduleDelayedItemsLayout()
        if self._fit_ladder():
            self.scrollTo(self._chosen())

    def _fit_ladder(self) -> bool:
        """Adopt the height of the rows; False if it is unchanged."""
        height = self._rows_height()
        if height == self._ladder_height:
            return False
        self._ladder_height = height
        self.scheduleDelayedItemsLayout()
        self.setMaximumHeight(self.sizeHint().height())
        self.updateGeometry()
        return True

    def _chosen(self) -> QModelIndex:
        return self._variants.index(self._variants.position(self._workspace.settings.variant))

    def _show_choice(self) -> None:
        index = self._chosen()
        if index != self.currentIndex():
            # The state leads here; the person's own choice comes through `_choose`.
            with QSignalBlocker(self.selectionModel()):
                self.setCurrentIndex(index)
            self.scrollTo(index)
        self.viewport().update()
