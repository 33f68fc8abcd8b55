"""The drawing, by mouse or keyboard, the held-out digits, and what the network recognises."""

from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QIcon,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QFrame, QLabel, QListWidget, QListWidgetItem, QSizePolicy, QWidget

from engine.results.text_forms import duration_text
from gui.network.drawing import SIDE, Drawing, Point, draw_frames, picture_of, shades
from gui.network.layers import chance_text, verdict_text, windows
from gui.network.network_state import NetworkState
from gui.style.metrics import GRID, HALF_GRID, follow, scaled_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.charts import Bar, BarChart, BarRow
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import boxed, column, icon_button, label_for, row, scrolled

_TILE = SIDE + GRID


class HeldOutDigits(QListWidget):
    """The digits that the training never saw; a click or the arrow keys take one as the drawing."""

    def __init__(self, network: NetworkState) -> None:
        super().__init__()
        self._network = network
        self.setViewMode(QListWidget.ViewMode.IconMode)
        self.setMovement(QListWidget.Movement.Static)
        self.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.setUniformItemSizes(True)
        self.setIconSize(QSize(SIDE, SIDE))
        self.setGridSize(QSize(_TILE, _TILE))
        self.setFixedHeight(2 * _TILE + HALF_GRID)
        self.setEditTriggers(QListWidget.EditTrigger.NoEditTriggers)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Held-out digits")
        self.setAccessibleDescription("Arrow keys take one as the drawing.")
        self.setToolTip("Choose a digit, which the training never saw: it takes the place of the drawing.")
        self.currentRowChanged.connect(self._take)
        network.drawing.changed.connect(self._follow)
        follow(self._fill, network.facts_changed, theme_notifier().changed)

    def _fill(self) -> None:
        facts, colours = self._network.facts, shades(current_theme())
        with QSignalBlocker(self):
            self.clear()
            digits = zip(facts.labels, facts.digits, strict=True) if facts else ()
            for number, (label, ink) in enumerate(digits):
                item = QListWidgetItem(QIcon(QPixmap.fromImage(picture_of(ink, colours))), "", self)
                item.setToolTip(f"Digit {number}: a {label}")
                item.setData(Qt.ItemDataRole.AccessibleTextRole, item.toolTip())
        self._follow()

    def _follow(self) -> None:
        """Mark the digit that is the drawing."""
        number = self._network.drawing.digit
        with QSignalBlocker(self):
            self.setCurrentRow(-1 if number is None else number)
            if number is None:
                self.clearSelection()
        self.viewport().update()

    def _take(self, number: int) -> None:
        if number >= 0 and self._network.facts is not None:
            self._network.drawing.show_ink(self._network.facts.digits[number], number, f"Digit {number}")


class DrawingPanel(QWidget):
    """The left panel."""

    def __init__(self, network: NetworkState) -> None:
        super().__init__()
        self._network = network
        drawing = network.drawing
        self.canvas = DrawingCanvas(drawing)
        self.clear = icon_button("clear", "Clear the drawing", "Take all ink away (Delete in the field).")
        self.digits = HeldOutDigits(network)
        self.verdict = QLabel()
        self.detail = ElidedLabel(most=3, small=True, name="About the drawing")
        self.bars = BarChart(
            "Probability of each digit", row=2 * GRID + 2, bar=GRID, has_track=True, widest=chance_text(1.0)
        )
        self.verdict.setFont(scaled_font(1.25, bold=True))
        self.verdict.setAccessibleName("Recognised")
        self.bars.setToolTip("Softmax of the ten scores: the probabilities sum to 100 %.")
        answer = column(row((self.verdict, 1), self.clear), self.detail, self.bars, spacing=HALF_GRID)
        parts = self.canvas, label_for("Held-out di&gits", self.digits), self.digits, answer
        # A low window scrolls the panel instead of growing.
        self.setLayout(column(scrolled(boxed(column(*parts, 1, margins=GRID)))))
        self.clear.clicked.connect(drawing.clear)
        network.cell_changed.connect(self._mark)
        follow(lambda: self.clear.setEnabled(not drawing.is_empty), drawing.changed)
        follow(self._show, network.answer_changed, theme_notifier().changed)

    def _show(self) -> None:
        answer, facts, number = self._network.answer, self._network.facts, self._network.drawing.digit
        theme = current_theme()
        rows = [BarRow(str(digit), (), is_quiet=True) for digit in range(10)]
        for digit, share in enumerate(answer.probabilities if answer else ()):
            # The most likely one stands out.
            is_best = answer is not None and digit == answer.digit
            bar = Bar(0.0, share, theme.accent if is_best else theme.outline)
            rows[digit] = BarRow(
                str(digit), (bar,), chance_text(share), is_quiet=not is_best, is_strong=is_best
            )
        words = ", ".join(f"{row.name}: {row.figure}" for row in rows)
        self.bars.show_rows(rows, words if answer else "There is no drawing yet.")
        if answer is None:
            why = self._network.why_no_answer
            self.verdict.setText("Nothing recognised" if why else "Recognising")
            self.detail.setText(why or "The drawing is on its way through the network.")
            return
        self.verdict.setText(verdict_text(answer.probabilities))
        source, wrong, hint = "Your drawing", "", ""
        if number is not None and facts is not None:
            source = f"Held-out digit {number}, a {facts.labels[number]}"
            wrong = " The network is wrong." if facts.labels[number] != answer.digit else ""
            hint = " The first stroke begins a new drawing."
        if self._network.drawing.is_enlarged:
            hint = " It is enlarged and centred for the network, as the digits of its training are."
        took = duration_text(answer.elapsed_ms)
        self.detail.setText(f"{source}: one drawing on the CPU in {took}.{wrong}{hint}")

    def _mark(self) -> None:
        """Mark the part of the drawing that the chosen value sees."""
        cell, facts = self._network.cell, self._network.facts
        is_as_drawn = self._network.answer is not None and not self._network.drawing.is_enlarged
        seen = None
        if cell is not None and facts is not None and is_as_drawn:
            # The last one is the drawing.
            *_, (_, rows, columns) = windows(facts.layers, cell)
            seen = rows, columns
        self.canvas.mark(seen)


_KEYS = (
    "Arrow keys move, with Shift they draw; Space draws a dot, Backspace erases one, Delete clears it all. "
    "With the mouse the left button draws and the right one erases."
)
_LARGEST_CELL = GRID + 4
_MOVES = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}


class DrawingCanvas(QWidget):
    """Shows the drawing and changes it; `window` marks the cells that a value of a layer comes from."""

    def __init__(self, drawing: Drawing) -> None:
        super().__init__(focusPolicy=Qt.FocusPolicy.StrongFocus, accessibleName="Drawing, 28 × 28 cells")
        self._drawing = drawing
        self._cursor = (SIDE // 2, SIDE // 2)  # row, column
        self._window: tuple[range, range] | None = None
        self._erases = False
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumSize(SIDE * GRID // 2, SIDE * GRID // 2)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setToolTip(f"Draw a digit as large as the field. {_KEYS}")
        drawing.changed.connect(self.update)
        self._describe()

    @property
    def cell_side(self) -> int:
        """Side of a cell, pixels."""
        return max(1, (min(self.width(), self.height()) - 2) // SIDE)

    def mark(self, window: tuple[range, range] | None) -> None:
        if window != self._window:
            self._window = window
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(SIDE * GRID, SIDE * GRID)

    def heightForWidth(self, width: int) -> int:
        # Whole pixels per cell, and not so large that the probabilities are pushed out.
        return SIDE * min(max(1, (width - 2) // SIDE), _LARGEST_CELL) + 2

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, field = current_theme(), self._field()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.drawImage(field, picture_of(self._drawing.ink, shades(theme)))
        painter.setPen(QPen(QColor(theme.outline), 1))
        painter.drawRect(field.adjusted(-0.5, -0.5, 0.5, 0.5))
        if self._drawing.is_empty:
            painter.setPen(QColor(theme.muted))
            painter.drawText(field, int(Qt.AlignmentFlag.AlignCenter), "Draw a digit here")
        if self._window is not None:
            rows, columns = self._window
            draw_frames(painter, [self._rect(rows, columns)], theme)
        if self.hasFocus():
            row, column = self._cursor
            draw_frames(painter, [self._rect(range(row, row + 1), range(column, column + 1))], theme, 1)
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(field.adjusted(1, 1, -1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton):
            self._erases = event.button() == Qt.MouseButton.RightButton
            self._drawing.begin(self._point(event.position()), erases=self._erases)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._drawing.extend(self._point(event.position()), erases=self._erases)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drawing.end("Erase" if self._erases else "Stroke")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        draws = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key in _MOVES:
            self._move(*_MOVES[key], draws=draws)
        elif key == Qt.Key.Key_Space:
            self._drawing.dot(self._centre())
        elif key == Qt.Key.Key_Backspace:
            self._drawing.dot(self._centre(), erases=True)
        elif key == Qt.Key.Key_Delete:
            self._drawing.clear()
        else:
            super().keyPressEvent(event)
            return
        self._describe()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Shift:
            # What was drawn while Shift was held is one step.
            self._drawing.end()
        super().keyReleaseEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._describe()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._drawing.end()
        super().focusOutEvent(event)

    def _move(self, down: int, right: int, *, draws: bool) -> None:
        (row, column), before = self._cursor, self._centre()
        self._cursor = min(max(row + down, 0), SIDE - 1), min(max(column + right, 0), SIDE - 1)
        if draws:
            self._drawing.extend(self._centre(), begin=before)
        self.update()

    def _describe(self) -> None:
        row, column = self._cursor
        ink = int(self._drawing.ink[row, column])
        here = f"Row {row}, column {column}: ink {ink} of 255."
        self.setAccessibleDescription(f"{here} {_KEYS}")

    def _centre(self) -> Point:
        row, column = self._cursor
        return column + 0.5, row + 0.5

    def _field(self) -> QRectF:
        side = self.cell_side * SIDE
        return QRectF((self.width() - side) // 2, (self.height() - side) // 2, side, side)

    def _rect(self, rows: range, columns: range) -> QRectF:
        field, side = self._field(), self.cell_side
        left, top = field.left() + columns.start * side, field.top() + rows.start * side
        return QRectF(left, top, len(columns) * side, len(rows) * side)

    def _point(self, position: QPointF) -> Point:
        field, side = self._field(), self.cell_side
        return (position.x() - field.left()) / side, (position.y() - field.top()) / side
