"""The list of steps over the panel of the selected one: what it reads, its place, what could be merged."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QPoint, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QListView,
    QMessageBox,
    QPushButton,
    QToolTip,
    QWidget,
)

from gui.explore.chain.chain_state import ChainState
from gui.explore.chain.chain_steps import moved, reads_of, why_not_moved
from gui.explore.chain.step_rows import StepRow, StepRows, row_height, title_of_step
from gui.explore.state import COMBINE, PICTURE, State
from gui.page.actions import Actions
from gui.style.metrics import GRID, HALF_GRID, follow_letters
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import action_button, column, fill_box, label_for, narrow_box, row

LEAST_ROWS, MOST_ROWS = 2, 6
_BUTTONS = ("step_up", "step_down", "step_duplicate", "step_remove", "chain_whole")
_READS_TIP = "What the selected step takes: the picture, or the result of an earlier step."
_SECOND_TIP = "The other result that is combined with the first."


class StepList(QListView):
    """Selects the step that the panels show; keys move, remove and switch it, the mouse drags it."""

    def __init__(self, chain: ChainState, actions: Actions) -> None:
        super().__init__()
        self._chain, self._actions = chain, actions
        # Where the row was taken that is dragged, and the place in the history then; all moves are one edit.
        self._taken: QPoint | None = None
        self._undo_to = 0
        self.rows = StepRows(chain)
        self.setModel(self.rows)
        self.row = StepRow(self.rows, chain)
        self.setItemDelegate(self.row)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Steps of the chain")
        self.setAccessibleDescription(
            "Arrow keys select, Alt and arrows move, Space switches, Del removes; rows can be dragged."
        )
        self.selectionModel().currentChanged.connect(self._select)
        self.rows.modelReset.connect(self._show)
        chain.workspace.state_changed.connect(self._show)
        follow_letters(self, self._fit_letters)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        stack = self._chain.workspace.undo_stack
        if event.key() == Qt.Key.Key_Escape and self._taken is not None:
            self._taken = None
            stack.setIndex(self._undo_to)
            return
        moves = event.modifiers() & Qt.KeyboardModifier.AltModifier
        done = {
            (Qt.Key.Key_Delete, False): "step_remove",
            (Qt.Key.Key_Space, False): "step_switch",
            (Qt.Key.Key_Up, True): "step_up",
            (Qt.Key.Key_Down, True): "step_down",
        }.get((Qt.Key(event.key()), bool(moves)))
        if done:
            self._actions[done].trigger()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and self.row.eye_rect(self.visualRect(index)).contains(event.position().toPoint()):
            if event.button() == Qt.MouseButton.LeftButton:
                self._chain.switch(index.row())
            return
        super().mousePressEvent(event)
        if index.isValid() and event.button() == Qt.MouseButton.LeftButton:
            self._taken = event.position().toPoint()
            self._undo_to = self._chain.workspace.undo_stack.index()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        # The second click on an eye is a click like the first.
        self.mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not event.buttons() & Qt.MouseButton.LeftButton:
            super().mouseMoveEvent(event)
            return
        at = event.position().toPoint()
        if self._taken is None:
            return
        if (at - self._taken).manhattanLength() < QApplication.startDragDistance():
            return
        bar, below = self.verticalScrollBar(), at.y() - self.viewport().height()
        bar.setValue(bar.value() + max(0, below) + min(0, at.y()))
        workspace, by = self._chain.workspace, self._places_to(at.y())
        why = why_not_moved(workspace.state, by) if by else ""
        workspace.edit(moved(workspace.state, by), "Move step", merge_key=("drag", self._undo_to))
        QToolTip.showText(event.globalPosition().toPoint(), why, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self._taken = None

    def _places_to(self, y: int) -> int:
        """Return how many places further down the selected row is at a height over the list."""
        top = self.visualRect(self.rows.index(0)).top()
        row = min(max((y - top) // row_height(), 0), self.rows.rowCount() - 1)
        return int(row) - self._chain.workspace.state.selected

    def _select(self, index: Any) -> None:
        self._chain.workspace.select_step(index.row())

    def _fit_letters(self) -> None:
        # All rows are taken to be as high as the first one was.
        self.scheduleDelayedItemsLayout()
        self._show()

    def _show(self) -> None:
        with QSignalBlocker(self.selectionModel()):
            self.setCurrentIndex(self.rows.index(self._chain.workspace.state.selected))
        if self.maximumHeight() != (height := self._height(MOST_ROWS)):
            self.setMaximumHeight(height)
            self.updateGeometry()
        self.scrollTo(self.currentIndex())
        self.viewport().update()

    def sizeHint(self) -> QSize:
        return QSize(20 * GRID, self._height(MOST_ROWS))

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, self._height(LEAST_ROWS))

    def _height(self, most: int) -> int:
        return min(most, self.rows.rowCount()) * row_height() + 2 * self.frameWidth()


class ChainList(QWidget):
    """The steps, and what is done with the selected one."""

    def __init__(self, chain: ChainState, actions: Actions) -> None:
        super().__init__()
        self._chain = chain
        self.list = StepList(chain, actions)
        self.first = narrow_box("First input of the step", _READS_TIP, 5)
        self.second = narrow_box("Second input of the step", _SECOND_TIP, 5)
        self._and = label_for("and", self.second)
        reads = row(label_for("Reads", self.first), (self.first, 1), self._and, (self.second, 1))
        self.buttons = [action_button(actions[name]) for name in _BUTTONS]
        *of_step, whole = self.buttons
        self.offer = ElidedLabel(1, most=4, small=True)
        self.merge_button = QPushButton("Merge")
        self.merge_button.setToolTip("One mask in the place of these steps. It can be undone.")
        self._offered = QWidget()
        self._offered.setLayout(row((self.offer, 1), self.merge_button))
        self.setLayout(
            column(
                self.list,
                row(*of_step, 1, whole, spacing=HALF_GRID),
                reads,
                self._offered,
                spacing=HALF_GRID,
                margins=(GRID, HALF_GRID, GRID, 0),
            )
        )
        self.setAccessibleName("Chain")
        for box in (self.first, self.second):
            box.activated.connect(self._choose)
        self.merge_button.clicked.connect(chain.merge)
        chain.workspace.state_changed.connect(self._show)
        chain.changed.connect(self._show_offer)
        self._show()
        self._show_offer()

    def _show(self) -> None:
        state = self._chain.workspace.state
        names = {PICTURE: "picture"}
        for at, step in enumerate(state.steps[: state.selected], start=1):
            names[step.id] = f"{at}: {title_of_step(step)}"
        reads = reads_of(state, state.selected)
        fill_box(self.first, names, reads[0])
        is_two = state.step.operation == COMBINE
        fill_box(self.second, names, state.step.second)
        for part in (self._and, self.second):
            part.setVisible(is_two)

    def _choose(self) -> None:
        self._chain.read(self.first.currentData(), self.second.currentData() or PICTURE)

    def _show_offer(self) -> None:
        offer = self._chain.offer
        self._offered.setVisible(offer is not None)
        if offer is not None:
            self.offer.setText(f"{offer.sentence}.")


def ask_which(state: State, parent: QWidget | None, chosen: Callable[[bool], None]) -> QMessageBox:
    """Ask, not modally for the program; `chosen` is called with True for the chain, and not after Cancel."""
    number, count = state.selected + 1, len(state.steps)
    box, role = QMessageBox(parent), QMessageBox.ButtonRole
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("Save the result")
    box.setText(f"<b>Save the result of the chain, or of step {number}?</b>")
    box.setInformativeText(
        f"The picture shows the result of step {number} of {count}, {title_of_step(state.step)}."
    )
    chain = box.addButton("&Chain", role.AcceptRole)
    chain.setToolTip("Show the result of the last step, and save it.")
    step = box.addButton(f"&Step {number}", role.ActionRole)
    step.setToolTip("Save what the picture shows.")
    box.addButton("Cancel", role.RejectRole)
    box.setDefaultButton(chain)
    chain.clicked.connect(lambda: chosen(True))
    step.clicked.connect(lambda: chosen(False))
    box.open()
    return box
