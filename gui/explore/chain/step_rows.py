"""The steps as rows of two lines: eye, number, title and time; what it reads, kernel, border."""

from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gui.explore.chain.chain_state import ChainState
from gui.explore.chain.chain_steps import number_of, reads_of
from gui.explore.mask.preset_names import shown_title
from gui.explore.state import COMBINE, PICTURE, State, Step
from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.theme import current_theme
from gui.widgets.panel_parts import paint_text

Index = QModelIndex | QPersistentModelIndex
STEP_ROLE = Qt.ItemDataRole.UserRole
_EYE = 4 * GRID
_NO_PARENT = QModelIndex()
_SIGNS = {
    "add": "Add",
    "subtract": "Subtract",
    "magnitude": "Magnitude",
    "maximum": "Maximum",
    "blend": "Blend",
}


def row_height() -> int:
    """Return the height of a row: of its two lines, as large as the letters are."""
    lines = QFontMetrics(number_font()).height() + QFontMetrics(small_font()).height()
    return max(5 * GRID, lines + GRID)


def title_of_step(step: Step) -> str:
    """Return what a step does, in a few words."""
    parameters = step.settings.parameters
    if step.operation == COMBINE:
        how = parameters.get("how", "add")
        weight = f" {parameters.get('weight', 0.5):g}" if how == "blend" else ""
        return f"{_SIGNS.get(how, how)}{weight}"
    if step.operation:
        given = "".join(f", {name} {value}" for name, value in parameters.items())
        return f"{step.operation.replace('-', ' ').capitalize()}{given}"
    rows, columns = step.mask.shape
    title, size = shown_title(step.mask, step.title), f"{rows} × {columns}"
    return title if size in title else f"{title} {size}"


def reads_words(state: State, at: int) -> str:
    """Return what a step reads: from picture; from step 1 and step 2."""
    names = ["picture" if id_ == PICTURE else f"step {number_of(state, id_)}" for id_ in reads_of(state, at)]
    return f"from {' and '.join(names)}"


class StepRows(QAbstractListModel):
    """The steps of the page."""

    def __init__(self, chain: ChainState) -> None:
        super().__init__()
        self._chain = chain
        self._state = chain.workspace.state
        chain.workspace.state_changed.connect(self.refresh)
        chain.changed.connect(self._show_times)

    def refresh(self) -> None:
        """Read the steps again."""
        state = self._chain.workspace.state
        if len(state.steps) != len(self._state.steps):
            self.beginResetModel()
            self._state = state
            self.endResetModel()
        else:
            self._state = state
            self._show_times()

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._state.steps)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._state.steps):
            return None
        step = self._state.steps[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return title_of_step(step)
            case Qt.ItemDataRole.AccessibleTextRole:
                off = "" if step.on else ", switched off"
                time = self.time_of(index)
                took = f", {time}" if time else ""
                return f"Step {index.row() + 1}: {title_of_step(step)}, {self.note(index)}{took}{off}"
            case Qt.ItemDataRole.ToolTipRole:
                return (
                    f"{title_of_step(step)}, {self.note(index)}\nName in files: {step.id}. Space switches it."
                )
            case Qt.ItemDataRole.UserRole:
                return step
        return None

    def note(self, index: Index) -> str:
        """Return the second line of a row."""
        step, settings = self._state.steps[index.row()], self._state.steps[index.row()].settings
        words = [reads_words(self._state, index.row())]
        if step.operation != COMBINE:
            words.append(settings.variant)
        if not step.operation:
            words.append(str(settings.border))
        return " · ".join(words)

    def time_of(self, index: Index) -> str:
        """Return what the step of a row took, or nothing."""
        return self._chain.time_of(self._state.steps[index.row()])

    def _show_times(self) -> None:
        self.dataChanged.emit(self.index(0), self.index(len(self._state.steps) - 1))


class StepRow(QStyledItemDelegate):
    """Paints a row with its eye."""

    def __init__(self, rows: StepRows, chain: ChainState) -> None:
        super().__init__(rows)
        self._rows, self._chain = rows, chain

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(20 * GRID, row_height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        step: Step = index.data(STEP_ROLE)
        rect: QRect = option.rect
        palette: QPalette = option.palette
        painter.save()
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if is_selected:
            painter.fillRect(rect, palette.highlight())
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, QColor(current_theme().raised))
        role = QPalette.ColorRole
        strong = palette.color(role.HighlightedText if is_selected else role.Text)
        quiet = palette.color(role.HighlightedText if is_selected else role.PlaceholderText)
        eye = icon("eye-outline" if step.on else "eye-off-outline")
        place = QRect(0, 0, 2 * GRID + 2, 2 * GRID + 2)
        place.moveCenter(self.eye_rect(rect).center())
        painter.setOpacity(1.0 if step.on else 0.6)
        modes = QIcon.Mode
        eye.paint(painter, place, mode=modes.Selected if is_selected else modes.Normal)
        text = rect.adjusted(_EYE + HALF_GRID, HALF_GRID, -GRID, -HALF_GRID)
        time = self._rows.time_of(index) if step.on else "off"
        sides = Qt.AlignmentFlag
        painter.setFont(number_font())
        wide = paint_text(painter, text, time, strong, sides.AlignTop | sides.AlignRight)
        title = f"{index.row() + 1}  {index.data()}"
        paint_text(painter, text.adjusted(0, 0, -wide - GRID, 0), title, strong, sides.AlignTop)
        painter.setFont(small_font())
        paint_text(painter, text, self._rows.note(index), quiet, sides.AlignBottom)
        painter.restore()

    @staticmethod
    def eye_rect(row: QRect) -> QRect:
        """Return where the eye of a row is."""
        return QRect(row.left(), row.top(), _EYE, row.height())
