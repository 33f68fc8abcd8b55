"""The panel Lens: the cells of a pixel, their products, and the steps to the value on the screen."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gui.explore.inspect.lens import CELLS, PRODUCTS, RESULT, WEIGHTS, Step, channel_name, place
from gui.explore.inspect.lens_state import LensState
from gui.style.metrics import GRID, HALF_GRID, follow, number_font, scaled_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import ValueTable, cell_number
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    NarrowBox,
    Placeholder,
    boxed,
    column,
    fill_box,
    row,
    scrolled,
)


def table_of(steps: Sequence[Step]) -> str:
    """Return a line for each step as rich text: its name, what it adds, the total so far."""
    quiet = f"style='color: {current_theme().muted}; white-space: pre'"
    lines = "".join(
        f"<tr><td {quiet}>{step.name}</td><td {quiet} align='right'>{step.adds}</td><td align='right' style="
        f"'font-weight: {700 if step.is_end or step.name.startswith(RESULT) else 400}'>{step.total}</td></tr>"
        for step in steps
    )
    return (
        f"<table width='100%' cellspacing='0' cellpadding='{HALF_GRID // 2}'>{lines}</table>" if steps else ""
    )


_TABLES = {PRODUCTS: "Products", CELLS: "Cells", WEIGHTS: "Weights"}
_TABLE_TIP = "What the table has: each cell of the window times its weight, the cells, or the weights."
_PINNED = "Pinned. Arrow keys walk; Esc or a click lets go."
_FOLLOWS = "Follows the mouse. A click pins it."
_MOST_ROWS = 7


class LensPanel(QWidget):
    """How the value of one pixel comes about."""

    def __init__(self, lens: LensState) -> None:
        super().__init__()
        self._lens = lens
        self.title = ElidedLabel(is_plain=True)
        self.channel = NarrowBox("Channel of the lens", "Whose sum is shown.", 6)
        self.table_choice = NarrowBox("Table of the lens", _TABLE_TIP, 7, _TABLES)
        self.hint, self.size_text = ElidedLabel(small=True), ElidedLabel()
        # Beside the choice of the table it stands in the middle.
        self.size_text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.table = ValueTable("Window of the pixel", is_signed=True, most_rows=_MOST_ROWS)
        self.table.text = cell_number
        self.steps = QLabel()
        self.steps.setFont(number_font())
        self.steps.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.steps.setAccessibleName("Steps from the cells to the screen")
        self.border, self.order = (ElidedLabel(most=lines, small=True) for lines in (4, 7))
        self.verdict = QLabel()
        for label in (self.title, self.verdict):
            label.setFont(scaled_font(1.0, bold=True))
        head = row((self.title, 1), self.channel)
        head.setAlignment(self.title, Qt.AlignmentFlag.AlignVCenter)
        which = row(self.table_choice, (self.size_text, 1))
        parts = head, self.hint, which, self.table, self.steps, self.verdict, self.order, self.border, 1
        self.stack = Placeholder(scrolled(boxed(column(*parts, spacing=HALF_GRID))))
        self.setLayout(column((self.stack, 1), margins=PANEL_MARGINS))
        self.channel.chosen.connect(lens.choose_channel)
        self.table_choice.chosen.connect(self._show)
        follow(self._show, lens.changed, lens.pinned_changed, theme_notifier().changed)

    def sizeHint(self) -> QSize:
        return QSize(35 * GRID, 50 * GRID)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_table()

    @property
    def shown_channel(self) -> int:
        """The channel that is shown: the chosen one, where the picture has it."""
        seen = self._lens.seen
        return 0 if seen is None else min(self._lens.channel, seen.channels - 1)

    def _show(self) -> None:
        lens, seen, channel = self._lens, self._lens.seen, self.shown_channel
        self.stack.say("" if seen is not None else lens.words)
        if seen is None:
            self.setAccessibleDescription(lens.words)
            return
        self.title.setText(place(seen.pixel))
        self.hint.setText(_PINNED if lens.is_pinned else _FOLLOWS)
        names = {at: channel_name(at, seen.channels).capitalize() for at in range(seen.channels)}
        fill_box(self.channel, names, channel)
        self.channel.setVisible(seen.channels > 1)
        self.table_choice.setVisible(bool(seen.border_words))
        self.size_text.setText(seen.heading)
        self.steps.setText(table_of(seen.steps(channel)))
        self.border.say(seen.border_words)
        self.order.setText(seen.words(channel))
        colour = current_theme().good if seen.is_equal else current_theme().muted
        self.verdict.setVisible(bool(seen.verdict))
        self.verdict.setText(f"<span style='color:{colour}'>= {seen.verdict}</span>")
        verdict = f"{seen.verdict}. " if seen.verdict else ""
        self.setAccessibleDescription(f"{seen.place}: {verdict}{self.order.text()}")
        self._show_table()

    def _show_table(self) -> None:
        """Show samples in grey with their white, unless some are negative; other values by their signs."""
        seen = self._lens.seen
        if seen is None:
            return
        shown = seen.table(self.table_choice.currentData(), self.shown_channel)
        if shown is None:
            self.table.show_values(None, 1.0)
            return
        values, hatched = shown.values, shown.hatched
        is_grey = shown.white is not None and not (values < 0).any()
        self.table.is_hatched = lambda r, c: hatched is not None and bool(hatched[r, c])
        self.table.is_signed, self.table.is_grey = not is_grey, is_grey
        largest = shown.white if is_grey else float(np.abs(values).max())
        self.table.show_values(values, largest or 1.0)
        self.table.framed = self.table.texts.index(*shown.framed)
        if len(values) > _MOST_ROWS:
            self.table.scrollTo(self.table.framed, self.table.ScrollHint.PositionAtCenter)
