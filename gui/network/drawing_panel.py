"""The drawing with its tools, the held-out digits, and what the network recognises."""

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QFrame, QLabel, QListWidget, QListWidgetItem, QWidget

from engine.results.quantities import duration_text
from gui.network.drawing import SIDE, picture_of, shades
from gui.network.drawing_canvas import DrawingCanvas
from gui.network.layers import DRAWING, chance_text, verdict_text, windows
from gui.network.network_state import NetworkState
from gui.style.metrics import GRID, HALF_GRID, scaled_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.bar_chart import Bar, BarChart, Row
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import column, icon_button, label_for, row, scrolled

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
        network.facts_changed.connect(self._fill)
        network.drawing.changed.connect(self._follow)
        theme_notifier().changed.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        facts, colours = self._network.facts, shades(current_theme())
        with QSignalBlocker(self):
            self.clear()
            for number, label in enumerate(facts.labels if facts else ()):
                picture = QPixmap.fromImage(picture_of(facts.digits[number], colours)) if facts else QPixmap()
                item = QListWidgetItem(QIcon(picture), "", self)
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
            self._network.drawing.show_digit(number, self._network.facts.digits[number])


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
        self.detail = ElidedLabel(most=3, small=True)
        self.bars = BarChart(
            "Probability of each digit", row=2 * GRID + 2, bar=GRID, has_track=True, widest=chance_text(1.0)
        )
        self._build()
        self.clear.clicked.connect(drawing.clear)
        network.answer_changed.connect(self._show)
        network.answer_changed.connect(self._show_bars)
        theme_notifier().changed.connect(self._show_bars)
        network.cell_changed.connect(self._mark)
        drawing.changed.connect(self._enable_tools)
        self._enable_tools()
        self._show()
        self._show_bars()

    def _build(self) -> None:
        self.verdict.setFont(scaled_font(1.25, bold=True))
        self.verdict.setAccessibleName("Recognised")
        self.bars.setToolTip("Softmax of the ten scores: the probabilities sum to 100 %.")
        self.detail.setAccessibleName("About the drawing")
        content = QWidget()
        answer = column(row((self.verdict, 1), self.clear), self.detail, self.bars, spacing=HALF_GRID)
        margins = (GRID, GRID, GRID, GRID)
        content.setLayout(
            column(
                self.canvas,
                label_for("Held-out &digits", self.digits),
                self.digits,
                answer,
                1,
                margins=margins,
            )
        )
        # A low window scrolls the panel instead of growing.
        self.setLayout(column(scrolled(content)))

    def _enable_tools(self) -> None:
        self.clear.setEnabled(not self._network.drawing.is_empty)

    def _show(self) -> None:
        answer, facts, number = self._network.answer, self._network.facts, self._network.drawing.digit
        if answer is None:
            why = self._network.why_no_answer
            self.verdict.setText("Nothing recognised" if why else "Recognising")
            self.detail.setText(why or "The drawing is on its way through the network.")
            return
        self.verdict.setText(verdict_text(answer.probabilities))
        source = "Your drawing" if number is None or facts is None else f"Held-out digit {number}"
        label = None if number is None or facts is None else facts.labels[number]
        is_a = "" if label is None else f", a {label}"
        wrong = " The network is wrong." if label is not None and label != answer.digit else ""
        hint = "" if number is None else " The first stroke begins a new drawing."
        if self._network.drawing.is_enlarged:
            hint = " It is enlarged and centred for the network, as the digits of its training are."
        self.detail.setText(
            f"{source}{is_a}: one drawing on the CPU in {duration_text(answer.elapsed_ms)}.{wrong}{hint}"
        )

    def _show_bars(self) -> None:
        """Show the probability of each digit; the most likely one stands out."""
        answer, theme = self._network.answer, current_theme()
        if answer is None:
            rows = [Row(str(digit), (), is_quiet=True) for digit in range(10)]
            self.bars.show_rows(rows, "There is no drawing yet.")
            return
        rows = []
        for digit, share in enumerate(answer.probabilities):
            is_best = digit == answer.digit
            bar = Bar(0.0, share, theme.accent if is_best else theme.outline)
            rows.append(Row(str(digit), (bar,), chance_text(share), is_quiet=not is_best, is_strong=is_best))
        self.bars.show_rows(rows, ", ".join(f"{row.name}: {row.figure}" for row in rows))

    def _mark(self) -> None:
        """Mark the part of the drawing that the chosen value sees."""
        cell, facts = self._network.cell, self._network.facts
        seen = None
        is_as_drawn = self._network.answer is not None and not self._network.drawing.is_enlarged
        if cell is not None and facts is not None and is_as_drawn:
            found = {before: (rows, columns) for before, rows, columns in windows(facts.layers, cell)}
            seen = found[DRAWING]
        self.canvas.mark(seen)
