"""The list of steps in rows of two lines, what could be merged, and how a step combines two results."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QFontMetrics, QIcon, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QListWidget,
    QMessageBox,
    QPushButton,
    QSlider,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)

from engine.work.steps import HOW, PICTURE
from gui.explore.chain.chain_actions import (
    ChainState,
    moved,
    number_of,
    reads_of,
    reads_words,
    title_of_step,
    why_not_moved,
)
from gui.explore.state import COMBINE, EditedStep, State
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID, follow, follow_letters, number_font, small_font
from gui.widgets.fields import NumberBox
from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import paint_ground, paint_text
from gui.widgets.panel_parts import (
    NarrowBox,
    RefusalLabel,
    action_button,
    boxed,
    column,
    fill_box,
    form,
    label_for,
    named,
    quiet_label,
    row,
)

LEAST_ROWS, MOST_ROWS = 2, 6
_BUTTONS = ("step_up", "step_down", "step_duplicate", "step_remove", "chain_whole")
# With Alt or without.
_KEYS = {
    (Qt.Key.Key_Delete, False): "step_remove", (Qt.Key.Key_Space, False): "step_switch",
    (Qt.Key.Key_Up, True): "step_up", (Qt.Key.Key_Down, True): "step_down",
}  # fmt: skip
_READS_TIP = "What the selected step takes: the picture, or the result of an earlier step."
_SECOND_TIP = "The other result that is combined with the first."


class StepList(QListWidget):
    """Selects the step that the panels show; keys move, remove and switch it, the mouse drags it."""

    def __init__(self, chain: ChainState, actions: Actions) -> None:
        super().__init__()
        self._chain, self._actions = chain, actions
        # Where the row was taken that is dragged, and the place in the history then; all moves are one edit.
        self._taken: QPoint | None = None
        self._undo_to = 0
        self.setItemDelegate(StepRow(self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setAccessibleName("Steps of the chain")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleDescription(
            "Arrow keys select, Alt and arrows move, Space switches, Del removes; rows can be dragged."
        )
        self.currentRowChanged.connect(chain.workspace.select_step)
        chain.changed.connect(self._read)
        chain.workspace.state_changed.connect(self._show)
        # All rows are taken to be as high as the first one was.
        follow_letters(self, self.scheduleDelayedItemsLayout)
        follow_letters(self, self._show)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        stack = self._chain.workspace.undo_stack
        if event.key() == Qt.Key.Key_Escape and self._taken is not None:
            self._taken = None
            stack.setIndex(self._undo_to)
            return
        moves = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if done := _KEYS.get((Qt.Key(event.key()), moves)):
            self._actions[done].trigger()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at, is_left = event.position().toPoint(), event.button() == Qt.MouseButton.LeftButton
        index = self.indexAt(at)
        if index.isValid() and StepRow.eye_rect(self.visualRect(index)).contains(at):
            if is_left:
                self._chain.switch(index.row())
            return
        super().mousePressEvent(event)
        if index.isValid() and is_left:
            self._taken, self._undo_to = at, self._chain.workspace.undo_stack.index()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        # The second click on an eye is a click like the first.
        self.mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not event.buttons() & Qt.MouseButton.LeftButton:
            super().mouseMoveEvent(event)
            return
        at = event.position().toPoint()
        if self._taken is None or (at - self._taken).manhattanLength() < QApplication.startDragDistance():
            return
        bar, below = self.verticalScrollBar(), at.y() - self.viewport().height()
        bar.setValue(bar.value() + max(0, below) + min(0, at.y()))
        # Places further down than the selected row.
        top, workspace = self.visualRect(self.model().index(0, 0)).top(), self._chain.workspace
        under = min(max((at.y() - top) // row_height(), 0), self.count() - 1)
        by = int(under) - workspace.state.selected
        why = why_not_moved(workspace.state, by) if by else ""
        workspace.edit(moved(workspace.state, by), "Move step", merge_key=("drag", self._undo_to))
        QToolTip.showText(event.globalPosition().toPoint(), why, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        self._taken = None

    def _read(self) -> None:
        state, roles = self._chain.workspace.state, Qt.ItemDataRole
        # No other one is selected by it.
        with QSignalBlocker(self):
            while self.count() > len(state.steps):
                self.takeItem(self.count() - 1)
            self.addItems([""] * (len(state.steps) - self.count()))
        for at, step in enumerate(state.steps):
            title, settings, time = title_of_step(step), step.settings, self._chain.time_of(step)
            how = "" if step.operation == COMBINE else settings.variant
            border = "" if step.operation else str(settings.border)
            note = " · ".join(filter(None, (reads_words(state, at), how, border)))
            off = "" if step.on else "switched off"
            spoken = ", ".join(filter(None, (f"Step {at + 1}: {title}, {note}", time, off)))
            tip = f"{title}, {note}\nName in files: {step.id}. Space switches it."
            texts = {roles.DisplayRole: title, roles.AccessibleTextRole: spoken, roles.ToolTipRole: tip}
            own = {STEP_ROLE: step, NOTE_ROLE: note, TIME_ROLE: time if step.on else "off"}
            for role, value in (texts | own).items():
                self.item(at).setData(role, value)

    def _show(self) -> None:
        self._read()
        with QSignalBlocker(self):
            self.setCurrentRow(self._chain.workspace.state.selected)
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
        return min(most, self.count()) * row_height() + 2 * self.frameWidth()


class ChainList(QWidget):
    """The steps, and what is done with the selected one."""

    def __init__(self, chain: ChainState, actions: Actions) -> None:
        super().__init__(accessibleName="Chain")
        self._chain = chain
        self.list = StepList(chain, actions)
        self.first = NarrowBox("First input of the step", _READS_TIP, 5)
        self.second = NarrowBox("Second input of the step", _SECOND_TIP, 5)
        self._and = label_for("and", self.second)
        reads = row(label_for("Reads", self.first), (self.first, 1), self._and, (self.second, 1))
        self.buttons = [action_button(actions[name]) for name in _BUTTONS]
        *of_step, whole = self.buttons
        self.offer = ElidedLabel(1, most=4, small=True)
        self.merge_button = QPushButton("Merge")
        self.merge_button.setToolTip("One mask in the place of these steps. It can be undone.")
        self._offered = boxed(row((self.offer, 1), self.merge_button))
        parts = self.list, row(*of_step, 1, whole, spacing=HALF_GRID), reads, self._offered
        self.setLayout(column(*parts, spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, 0)))
        self.first.chosen.connect(lambda id_: chain.read(id_, self.second.currentData() or PICTURE))
        self.second.chosen.connect(lambda id_: chain.read(self.first.currentData(), id_ or PICTURE))
        self.merge_button.clicked.connect(chain.merge)
        follow(self._show, chain.workspace.state_changed, chain.changed)

    def _show(self) -> None:
        state = self._chain.workspace.state
        before = enumerate(state.steps[: state.selected], start=1)
        names = {PICTURE: "picture"} | {step.id: f"{at}: {title_of_step(step)}" for at, step in before}
        fill_box(self.first, names, reads_of(state, state.selected)[0])
        fill_box(self.second, names, state.step.second)
        for part in (self._and, self.second):
            part.setVisible(state.step.operation == COMBINE)
        self._offered.setVisible(self._chain.offer is not None)
        if (offer := self._chain.offer) is not None:
            steps = " and ".join(str(number_of(state, one)) for one in offer.ids)
            self.offer.setText(f"Steps {steps} {offer.effect}.")


def ask_which(state: State, parent: QWidget | None, chosen: Callable[[bool], None]) -> QMessageBox:
    """Ask, not modally for the program; `chosen` is called with True for the chain, and not after Cancel."""
    number, count = state.selected + 1, len(state.steps)
    box, role = QMessageBox(parent), QMessageBox.ButtonRole
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("Save the result")
    box.setText(f"<b>Save the result of the chain, or of step {number}?</b>")
    shown = f"step {number} of {count}, {title_of_step(state.step)}"
    box.setInformativeText(f"The picture shows the result of {shown}.")
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


Index = QModelIndex | QPersistentModelIndex
STEP_ROLE, NOTE_ROLE, TIME_ROLE = (Qt.ItemDataRole.UserRole + at for at in range(3))
_EYE = 4 * GRID


def row_height() -> int:
    """Return the height of a row: of its two lines, as large as the letters are."""
    lines = QFontMetrics(number_font()).height() + QFontMetrics(small_font()).height()
    return max(5 * GRID, lines + GRID)


class StepRow(QStyledItemDelegate):
    """Paints a row with its eye."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(20 * GRID, row_height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        step: EditedStep = index.data(STEP_ROLE)
        rect: QRect = option.rect
        painter.save()
        strong, quiet = paint_ground(painter, option)
        eye = icon("eye-outline" if step.on else "eye-off-outline")
        place = QRect(0, 0, 2 * GRID + 2, 2 * GRID + 2)
        place.moveCenter(self.eye_rect(rect).center())
        painter.setOpacity(1.0 if step.on else 0.6)
        is_selected = option.state & QStyle.StateFlag.State_Selected
        eye.paint(painter, place, mode=QIcon.Mode.Selected if is_selected else QIcon.Mode.Normal)
        text = rect.adjusted(_EYE + HALF_GRID, HALF_GRID, -GRID, -HALF_GRID)
        time = index.data(TIME_ROLE)
        sides = Qt.AlignmentFlag
        painter.setFont(number_font())
        wide = paint_text(painter, text, time, strong, sides.AlignTop | sides.AlignRight)
        title = f"{index.row() + 1}  {index.data()}"
        paint_text(painter, text.adjusted(0, 0, -wide - GRID, 0), title, strong, sides.AlignTop)
        painter.setFont(small_font())
        paint_text(painter, text, index.data(NOTE_ROLE), quiet, sides.AlignBottom)
        painter.restore()

    @staticmethod
    def eye_rect(row: QRect) -> QRect:
        return QRect(row.left(), row.top(), _EYE, row.height())


_HOW_TIP = "What becomes of each pair of samples."
_MOST, _WEIGHT = 100.0, "Weight of the second result"
# The slider covers what is used; the field takes all.
_SLID, _PER_UNIT = 2, 100
_TIP = (
    "How much of the second result: 0 is the first alone, 1 the second alone. Below 0 and above 1 it "
    "exaggerates: -0.8 adds 0.8 times the difference."
)


class CombinePanel(QWidget):
    """Edits the parameters of the selected step, which combines two results."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(accessibleName="Combine panel")
        self._workspace = workspace
        hows = {key: key.capitalize() for key in HOW}
        self.how = NarrowBox("How two results are combined", _HOW_TIP, 12, hows)
        self.about = quiet_label(wraps=True, small=True)
        self.slider = named(QSlider(Qt.Orientation.Horizontal), _WEIGHT)
        self.slider.setRange(-_SLID * _PER_UNIT, _SLID * _PER_UNIT)
        self.field = NumberBox(_WEIGHT, -_MOST, _MOST, "a number from -100 to 100", decimals=3)
        self.field.setSingleStep(0.1)
        for part in (self.slider, self.field):
            part.setToolTip(_TIP)
        self.refusal = RefusalLabel()
        fields = form()
        fields.addRow(label_for("Combine by", self.how), self.how)
        self._weight = boxed(row(label_for("Weight", self.field), (self.slider, 1), self.field))
        parts = fields, self.about, self._weight, self.refusal, 1
        self.setLayout(column(*parts, margins=(GRID, HALF_GRID, GRID, GRID)))
        self.how.chosen.connect(lambda how: workspace.set_parameter("how", how))
        self.slider.valueChanged.connect(lambda at: workspace.set_parameter("weight", at / _PER_UNIT))
        self.field.valueChanged.connect(lambda: workspace.set_parameter("weight", self.field.value()))
        self.field.refused.connect(self.refusal.say)
        follow(self._show, workspace.settings_changed, workspace.operation_changed)

    def _show(self) -> None:
        parameters = self._workspace.settings.parameters
        how, weight = parameters.get("how", "add"), float(parameters.get("weight", 0.5))
        self.how.setCurrentIndex(self.how.findData(how))
        self.about.setText(f"{HOW.get(how, '').capitalize()}.")
        self._weight.setVisible(how == "blend")
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(weight * _PER_UNIT))
        self.field.show_value(weight)
        self.refusal.say("")
