import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget

from gui.explore.picture.split_handle import WIDTH, SplitHandle


@pytest.fixture
def handle(qtbot):
    """A handle in a pane 200 wide."""
    pane = QWidget()
    qtbot.addWidget(pane)
    pane.resize(200, 100)
    pane.show()
    handle = SplitHandle(pane)
    handle.place()
    handle.show()
    return handle


def test_that_dragging_moves_it_with_the_cursor_and_a_cursor_without_a_button_does_not(qtbot, handle):
    assert handle.geometry().center().x() == 100
    middle = QPoint(WIDTH // 2, 50)
    qtbot.mouseMove(handle, QPoint(WIDTH - 1, 50))
    assert handle.fraction == 0.5
    qtbot.mousePress(handle, Qt.MouseButton.LeftButton, pos=middle)
    with qtbot.waitSignal(handle.moved) as moved:
        qtbot.mouseMove(handle, middle + QPoint(50, 0))
    qtbot.mouseRelease(handle, Qt.MouseButton.LeftButton)
    assert moved.args == [0.75]
    assert handle.geometry().center().x() == 150


@pytest.mark.parametrize(
    ("key", "place"), [("Left", 0.49), ("Shift+Right", 0.6), ("Home", 0.0), ("End", 1.0)]
)
def test_that_keys_move_it_within_the_pane_and_screen_readers_hear_where_it_is(qtbot, handle, key, place):
    qtbot.keySequence(handle, key)
    assert handle.fraction == pytest.approx(place, abs=1e-12)
    assert f"{100 * place:.0f} %" in handle.accessibleDescription()
    handle.set_fraction(1.7)
    assert handle.fraction == 1.0
