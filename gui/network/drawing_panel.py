"""The drawing with its tools, the held-out digits, and what the network recognises."""

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QComboBox, QFrame, QLabel, QListWidget, QListWidgetItem, QWidget

from engine.results.quantities import ms_text
from gui.network.drawing import SIDE, picture_of, shades
from gui.network.drawing_canvas import DrawingCanvas
from gui.network.layers import DRAWING, chance_text, verdict_text, windows
from gui.network.network_state import NetworkState
from gui.style.metrics import GRID, HALF_GRID, scaled_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.bar_chart import Bar, BarChart, Row
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import column, fill_box, icon_button, label_for, row, scrolled

_TILE = SIDE + GRID
_ALL, _WRONG = -1, -2
_NUMBER_ROLE = Qt.ItemDataRole.UserRole


class HeldOutDigits(QWidget):
    """The digits that the training never saw; a click or the arrow keys take one as the drawing."""

    def __init__(self, network: NetworkState) -> None:
        super().__init__()
        self._network = network
        self.choice = QComboBox()
        self.list = QListWidget()
        self._build()
        self.choice.activated.connect(self._fill)
        self.list.currentItemChanged.connect(self._take)
        network.facts_changed.connect(self._fill_choice)
        network.confusion_changed.connect(self._fill_choice)
        network.drawing.changed.connect(self._follow)
        theme_notifier().changed.connect(self._fill)
        self._fill_choice()

    def show_wrong(self, digit: int) -> None:
        """List the misclassified digits, from the first of this digit on."""
        facts, confusion = self._network.facts, self._network.confusion
        if facts is None or confusion is None:
            return
        self.choice.setCurrentIndex(self.choice.findData(_WRONG))
        self._fill()
        # A session may be of other digits.
        wrong = [at for at, label in enumerate(facts.labels) if label == digit and at in confusion.wrong]
        if wrong:
            self.list.setCurrentRow(self._row(wrong[0]))

    def _build(self) -> None:
        self.choice.setAccessibleName("Held-out digits to choose from")
        self.choice.setToolTip("Which of the held-out digits are listed. The training never saw them.")
        self.list.setViewMode(QListWidget.ViewMode.IconMode)
        self.list.setMovement(QListWidget.Movement.Static)
        self.list.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.list.setUniformItemSizes(True)
        self.list.setIconSize(QSize(SIDE, SIDE))
        self.list.setGridSize(QSize(_TILE, _TILE))
        self.list.setFixedHeight(2 * _TILE + HALF_GRID)
        self.list.setEditTriggers(QListWidget.EditTrigger.NoEditTriggers)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setAccessibleName("Held-out digits")
        self.list.setAccessibleDescription("Arrow keys take one as the drawing.")
        self.list.setToolTip("Choose a digit: it takes the place of the drawing.")
        title = label_for("Held-out &digits", self.choice)
        self.setLayout(column(row(title, (self.choice, 1)), self.list, spacing=HALF_GRID))

    def _fill_choice(self) -> None:
        facts, confusion = self._network.facts, self._network.confusion
        entries = {_ALL: f"All {len(facts.labels)}" if facts else "All"}
        if confusion is not None:
            entries[_WRONG] = f"Misclassified: {len(confusion.wrong)}"
        entries |= {digit: f"Only {digit}" for digit in range(10)}
        chosen = self.choice.currentData()
        fill_box(self.choice, entries, chosen if chosen in entries else _ALL)
        self.setEnabled(facts is not None)
        self._fill()

    def _fill(self) -> None:
        facts, confusion = self._network.facts, self._network.confusion
        with QSignalBlocker(self.list):
            self.list.clear()
        if facts is None:
            return
        kind, colours = self.choice.currentData(), shades(current_theme())
        wrong = confusion.wrong if confusion else ()
        for number, label in enumerate(facts.labels):
            if kind in (_ALL, label) or (kind == _WRONG and number in wrong):
                picture = QPixmap.fromImage(picture_of(facts.digits[number], colours))
                item = QListWidgetItem(QIcon(picture), "")
                item.setData(_NUMBER_ROLE, number)
                mark = ", misclassified" if number in wrong else ""
                words = f"Digit {number}: a {label}{mark}"
                item.setToolTip(words)
                item.setData(Qt.ItemDataRole.AccessibleTextRole, words)
                self.list.addItem(item)
        self._follow()

    def _follow(self) -> None:
        """Mark the digit that is the drawing."""
        row = self._row(self._network.drawing.digit)
        with QSignalBlocker(self.list):
            self.list.setCurrentRow(row)
            if row < 0:
                self.list.clearSelection()
        self.list.viewport().update()

    def _row(self, number: int | None) -> int:
        rows = range(self.list.count())
        return next((row for row in rows if self.list.item(row).data(_NUMBER_ROLE) == number), -1)

    def _take(self, current: QListWidgetItem | None) -> None:
        facts = self._network.facts
        if current is not None and facts is not None:
            number = current.data(_NUMBER_ROLE)
            self._network.drawing.show_digit(number, facts.digits[number])


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
        content.setLayout(column(self.canvas, self.digits, answer, 1, margins=margins))
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
            f"{source}{is_a}: one drawing on the CPU in {ms_text(answer.elapsed_ms)}.{wrong}{hint}"
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
