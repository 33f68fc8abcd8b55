from itertools import product

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QSize
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


@pytest.fixture
def area(qtbot):
    """An area with a square and words below it."""
    content, label = QWidget(), ElidedLabel(most=4)
    label.setText("The words below take another line where the scroll bar leaves them less room. " * 2)
    content.setLayout(column(Square(), label, 1, spacing=0))
    area = scrolled(content)
    qtbot.addWidget(area)
    area.show()
    return area


@pytest.mark.slow
def test_that_the_size_of_the_content_follows_from_the_room_alone_and_a_bar_is_where_it_is_needed(area, qapp):
    content, bar, sizes = area.widget(), area.verticalScrollBar(), {}
    heights = range(60, 420, 3)
    for height in (*heights, *reversed(heights)):
        area.resize(284, height)
        qapp.processEvents()
        least = content.layout().minimumHeightForWidth(content.width())
        assert content.height() == max(least, height)
        assert (bar.isVisible(), bar.maximum()) == (least > height, max(0, least - height))
        assert content.width() <= area.viewport().width()
        assert sizes.setdefault(height, content.size()) == content.size(), "on the way up and down"


def test_that_a_square_that_fits_when_it_is_a_little_less_wide_needs_no_scroll_bar(qtbot, qapp):
    content = QWidget()
    content.setLayout(column(Square(), 1, spacing=0))
    area = scrolled(content)
    qtbot.addWidget(area)
    area.show()
    area.resize(284, 270)
    qapp.processEvents()
    assert not area.verticalScrollBar().isVisible()
    assert content.width() == 279
    area.resize(284, 240)
    qapp.processEvents()
    assert area.verticalScrollBar().isVisible()


def test_that_a_content_without_words_fills_the_area(qtbot, qapp):
    content = QWidget()
    content.setLayout(QVBoxLayout())
    content.setMinimumSize(200, 100)
    area = ScrollArea(content)
    qtbot.addWidget(area)
    area.resize(300, 250)
    area.show()
    qapp.processEvents()
    assert content.size() == QSize(300, 250)
    area.resize(120, 60)
    qapp.processEvents()
    assert content.size() == QSize(200, 100)
    assert area.horizontalScrollBar().maximum() > 0
    content.setMinimumSize(50, 40)
    qtbot.waitUntil(lambda: content.size() == QSize(120, 60))


def test_that_what_is_hidden_adopts_another_content_once_it_is_shown(qtbot):
    content, label = QWidget(), ElidedLabel()
    content.setLayout(column(label, spacing=0))
    area = scrolled(content)
    qtbot.addWidget(area)
    area.resize(200, 50)
    area.show()
    area.hide()
    before = content.size()
    label.setMinimumHeight(300)
    QCoreApplication.sendPostedEvents()
    assert content.size() == before
    area.show()
    qtbot.waitUntil(lambda: content.height() == 300)


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
