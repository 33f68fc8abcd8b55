from itertools import product

import numpy as np
import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import ValueTable, cell_number, number, short_number
from gui.widgets.panel_parts import ScrollArea, column, scrolled


class Square(QWidget):
    """As high as it is wide, in whole cells, as a field to draw in is."""

    def __init__(self):
        super().__init__()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def minimumSizeHint(self):  # noqa: N802
        return QSize(28, 28)

    def heightForWidth(self, width):  # noqa: N802
        return max(28, width // 28 * 28)


@pytest.mark.slow
def test_that_the_size_of_the_content_follows_from_the_room_and_a_bar_is_where_it_must(show_widget, qapp):
    # A square with words below it.
    content, label, sizes, heights = QWidget(), ElidedLabel(most=4), {}, range(60, 420, 3)
    label.setText("The words below take another line where the scroll bar leaves them less room. " * 2)
    content.setLayout(column(Square(), label, 1, spacing=0))
    area = show_widget(scrolled(content))
    bar = area.verticalScrollBar()
    for height in (*heights, *reversed(heights)):
        area.resize(284, height)
        qapp.processEvents()
        least = content.layout().minimumHeightForWidth(content.width())
        assert content.height() == max(least, height)
        assert (bar.isVisible(), bar.maximum()) == (least > height, max(0, least - height))
        assert content.width() <= area.viewport().width()
        assert sizes.setdefault(height, content.size()) == content.size(), "on the way up and down"


def test_that_a_content_without_words_fills_the_area(qtbot, qapp, show_widget):
    content = QWidget()
    content.setLayout(QVBoxLayout())
    content.setMinimumSize(200, 100)
    area = show_widget(ScrollArea(content))
    for size, filled in (((300, 250), (300, 250)), ((120, 60), (200, 100))):
        area.resize(*size)
        qapp.processEvents()
        assert content.size().toTuple() == filled
    content.setMinimumSize(50, 40)
    qtbot.waitUntil(lambda: content.size().toTuple() == (120, 60))


@pytest.mark.filterwarnings("error")
def test_that_values_that_are_no_numbers_are_drawn(qtbot):
    values = np.array([[np.nan, np.inf, -np.inf, 0.5]])
    texts = number, short_number, cell_number
    for text, is_signed, largest in product(texts, (True, False), (1.0, np.nan, np.inf)):
        assert [text(float(value)) for value in values[0, :3]] == ["NaN", "∞", "−∞"]
        table = ValueTable("Window", is_signed=is_signed)
        table.text = text
        qtbot.addWidget(table)
        table.show_values(values, largest)
        # What a drawing raises fails the test.
        assert not table.grab().isNull()
