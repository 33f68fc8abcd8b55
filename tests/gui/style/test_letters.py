"""The size of all letters, changed while a window is open."""

import pytest
from PySide6.QtWidgets import QLabel, QScrollArea, QSpinBox, QSplitter, QVBoxLayout, QWidget

from gui.style.metrics import scaled_font, set_letter_size
from gui.style.theme import apply_theme


@pytest.fixture
def usual_letters(qapp, qtbot):
    yield
    set_letter_size(qapp, 100)


def test_that_the_window_and_its_panels_are_on_the_screen_with_the_new_letters(qapp, qtbot, usual_letters):
    painted = set()

    class Words(QLabel):
        def paintEvent(self, event):  # noqa: N802
            super().paintEvent(event)
            painted.add(self.text())

    window, panel = QSplitter(), QScrollArea()
    qtbot.addWidget(window)
    window.addWidget(Words("of the window", autoFillBackground=True))
    panel.setWidget(Words("of the panel", autoFillBackground=True))
    window.addWidget(panel)
    window.resize(600, 200)
    set_letter_size(qapp, 100)
    window.show()
    qtbot.waitUntil(lambda: len(painted) == 2)
    painted.clear()
    set_letter_size(qapp, 150)
    qtbot.waitUntil(lambda: len(painted) == 2)
    shown, whole = window.screen().grabWindow(window.winId()).toImage(), window.grab().toImage()
    assert shown.convertToFormat(whole.format()) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", ["150 dark 100 light", "dark 150 light dark 80 light", "200 light 150 dark 100"]
)
def test_that_letters_keep_their_size_whatever_the_theme_does(qapp, qtbot, light_again, usual_letters, order):
    window, note, number = QWidget(), QLabel("note"), QSpinBox()
    qtbot.addWidget(window)
    window.setLayout(QVBoxLayout())
    shares = {note: 0.9, number: 1.0}
    for widget, share in shares.items():
        window.layout().addWidget(widget)
        widget.setFont(scaled_font(share))
    usual = qapp.font().pointSizeF()
    with qtbot.waitExposed(window):
        window.show()
    percent = 100
    for step in order.split():
        if step.isdigit():
            percent = int(step)
            set_letter_size(qapp, percent)
        else:
            apply_theme(qapp, step)
        for widget, share in shares.items():
            assert widget.font().pointSizeF() == pytest.approx(usual * share * percent / 100)
