"""The panel Lens: the cells of a pixel, their products, and the steps to the value on the screen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from engine.image.convert import full_scale_of
from gui.explore.inspect.lens import (
    RESULT,
    CombineLens,
    FilterLens,
    OperationLens,
    Step,
    border_sentence,
    channel_name,
    combine_steps,
    operation_sentence,
    order_sentence,
    place,
    place_of,
    read_numbers,
    read_words,
    sorted_values,
    steps,
    verdict,
)
from gui.explore.inspect.lens_state import LensState
from gui.explore.picture.tiled import value_text
from gui.style.metrics import GRID, HALF_GRID, number_font, scaled_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import ValueTable, cell_number
from gui.widgets.panel_parts import PANEL_MARGINS, NarrowBox, Placeholder, column, fill_box, row, scrolled


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


_PRODUCTS, _CELLS, _WEIGHTS = "products", "cells", "weights"
_TABLES = {_PRODUCTS: "Products", _CELLS: "Cells", _WEIGHTS: "Weights"}
_TABLE_TIP = "What the table has: each cell of the window times its weight, the cells, or the weights."
_PINNED = "Pinned. Arrow keys walk; Esc or a click lets go."
_FOLLOWS = "Follows the mouse. A click pins it."
_MOST_ROWS = 7
_MOST_SORTED = 49


class LensPanel(QWidget):
    """How the value of one pixel comes about."""

    def __init__(self, lens: LensState) -> None:
        super().__init__()
        self._lens = lens
        self.title = ElidedLabel()
        self.channel = NarrowBox("Channel of the lens", "Whose sum is shown.", 6)
        self.table_choice = NarrowBox("Table of the lens", _TABLE_TIP, 7)
        self.hint, self.size_text = ElidedLabel(small=True), ElidedLabel()
        # Beside the choice of the table it stands in the middle.
        self.size_text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.table = ValueTable("Window of the pixel", is_signed=True, most_rows=_MOST_ROWS)
        self.table.text = cell_number
        self.steps = QLabel()
        self.border, self.order = (ElidedLabel(most=lines, small=True) for lines in (4, 7))
        self.verdict = QLabel()
        fill_box(self.table_choice, _TABLES, _PRODUCTS)
        self._build()
        self.channel.activated.connect(lens.choose_channel)
        self.table_choice.activated.connect(lambda _at: self._show())
        lens.changed.connect(self._show)
        lens.pinned_changed.connect(self._show)
        theme_notifier().changed.connect(self._show)
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(35 * GRID, 50 * GRID)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_table()

    def _build(self) -> None:
        for label in (self.title, self.verdict):
            label.setFont(scaled_font(1.0, bold=True))
        self.title.setForegroundRole(QPalette.ColorRole.WindowText)
        self.steps.setFont(number_font())
        self.steps.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.steps.setAccessibleName("Steps from the cells to the screen")
        content = QWidget()
        head = row((self.title, 1), self.channel)
        head.setAlignment(self.title, Qt.AlignmentFlag.AlignVCenter)
        which = row(self.table_choice, (self.size_text, 1))
        parts = head, self.hint, which, self.table, self.steps, self.verdict, self.order, self.border
        content.setLayout(column(*parts, 1, spacing=HALF_GRID))
        self.stack = Placeholder(scrolled(content))
        self.setLayout(column((self.stack, 1), margins=PANEL_MARGINS))

    def _show(self) -> None:
        lens, seen = self._lens, self._lens.seen
        self.stack.say("" if seen is not None else lens.words)
        if seen is None:
            self.setAccessibleDescription(lens.words)
            return
        self.title.setText(place(seen.pixel))
        self.hint.setText(_PINNED if lens.is_pinned else _FOLLOWS)
        channels = seen.channels
        names = {at: channel_name(at, channels).capitalize() for at in range(channels)}
        fill_box(self.channel, names, self.shown_channel)
        self.channel.setVisible(channels > 1)
        for part in (self.table_choice, self.border):
            part.setVisible(isinstance(seen, FilterLens))
        self.verdict.setVisible(not isinstance(seen, OperationLens))
        if isinstance(seen, FilterLens):
            self._show_filter(seen)
        elif isinstance(seen, CombineLens):
            self._show_combination(seen)
        else:
            self._show_operation(seen)
        self._show_table()

    @property
    def shown_channel(self) -> int:
        """The channel that is shown: the chosen one, where the picture has it."""
        seen = self._lens.seen
        return 0 if seen is None else min(self._lens.channel, seen.channels - 1)

    def _show_filter(self, seen: FilterLens) -> None:
        channel = self.shown_channel
        white = full_scale_of(np.dtype(seen.job.picture.dtype))
        mask, mode = seen.step.applied, seen.job.range_mode
        self.size_text.setText(f"{mask.rows} × {mask.columns}{read_words(seen.chain)}")
        self.steps.setText(table_of(steps(seen, channel, mode, white)))
        self.border.setText(border_sentence(seen))
        self.order.setText(order_sentence(seen))
        self._show_verdict(seen)

    def _show_combination(self, seen: CombineLens) -> None:
        channel = self.shown_channel
        self.size_text.setText(f"Of {' and '.join(read_numbers(seen.chain))}")
        self.steps.setText(table_of(combine_steps(seen, channel)))
        self.order.setText(f"{seen.formula} It reads {' and '.join(seen.chain.reads)}.")
        self._show_verdict(seen)

    def _show_verdict(self, seen: FilterLens | CombineLens) -> None:
        colour = current_theme().good if seen.is_equal else current_theme().muted
        self.verdict.setText(f"<span style='color:{colour}'>= {verdict(seen)}</span>")
        self.setAccessibleDescription(f"{place_of(seen)}: {verdict(seen)}. {self.order.text()}")

    def _show_operation(self, seen: OperationLens) -> None:
        channel = self.shown_channel
        read = read_words(seen.chain)
        has_window = seen.cells is not None and len(seen.cells) > 1
        self.size_text.setText(f"{seen.title}{read or (': the window' if has_window else '')}")
        words = operation_sentence(seen, channel)
        self.steps.setText(table_of(_lines_of(seen, channel)))
        self.order.setText(f"{words} {seen.teaches}")
        self.setAccessibleDescription(f"{place_of(seen)}: {words}")

    def _show_table(self) -> None:
        seen, channel = self._lens.seen, self.shown_channel
        if seen is None:
            return
        if isinstance(seen, CombineLens):
            self.table.show_values(None, 1.0)
            return
        if isinstance(seen, OperationLens):
            self._show_window(seen, channel)
            return
        chosen, mask, window = self.table_choice.currentData(), seen.step.applied, seen.window
        values = {
            _PRODUCTS: seen.products[..., channel],
            _CELLS: window.cells[..., channel],
            _WEIGHTS: mask.weights32,
        }[chosen]
        white = full_scale_of(np.dtype(seen.job.picture.dtype))
        self.table.is_hatched = lambda r, c: chosen != _WEIGHTS and bool(window.outside[r, c])
        self._show_values(values, white if chosen == _CELLS else None)
        self.table.framed = self.table.texts.index(*mask.anchor)
        if values.shape[0] > _MOST_ROWS:
            self.table.scrollTo(self.table.framed, self.table.ScrollHint.PositionAtCenter)

    def _show_window(self, seen: OperationLens, channel: int) -> None:
        cells, outside = seen.cells, seen.outside
        self.table.is_hatched = lambda r, c: outside is not None and bool(outside[r, c])
        if cells is None or cells.shape[0] == 1:
            self.table.show_values(None, 1.0)
            return
        values = cells[..., channel].astype(np.float64)
        self._show_values(values, seen.white)
        self.table.framed = self.table.texts.index(values.shape[0] // 2, values.shape[1] // 2)

    def _show_values(self, values: NDArray[Any], white: float | None) -> None:
        """Show samples in grey with their white, unless some are negative; other values by their signs."""
        is_grey = white is not None and not (values < 0).any()
        self.table.is_signed, self.table.is_grey = not is_grey, is_grey
        self.table.show_values(values, white if is_grey and white else float(np.abs(values).max()) or 1.0)


def _lines_of(seen: OperationLens, channel: int) -> list[Step]:
    """Return the sorted window, some values to a line."""
    values = () if seen.cells is None else sorted_values(seen, channel)
    if not 1 < len(values) <= _MOST_SORTED:
        return []
    side = round(len(values) ** 0.5)
    texts = [value_text(value) for value in values]
    lines = [", ".join(texts[at : at + side]) for at in range(0, len(texts), side)]
    return [Step("" if number else "Sorted", line) for number, line in enumerate(lines)]
