import gc

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from gui.style.theme import DARK, LIGHT, apply_theme, current_theme, theme_notifier


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_that_words_and_outlines_can_be_seen_on_every_surface(theme):
    words = ("text", "muted", "good", "warning", "error", "accent")
    pairs = [(role, surface, 4.5) for role in words for surface in ("window", "base", "raised")]
    pairs += [("accent_text", "accent", 4.5), ("outline", "window", 3.0), ("outline", "base", 3.0)]
    assert [pair for pair in pairs if contrast(*(getattr(theme, name) for name in pair[:2])) < pair[2]] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["light", "dark"])
def test_that_a_theme_reaches_the_palette_and_the_notifier(qapp, qtbot, name):
    apply_theme(qapp, "dark" if name == "light" else "light")
    with qtbot.waitSignal(theme_notifier().changed) as caught:
        apply_theme(qapp, name)
    assert caught.args == [current_theme()]
    assert current_theme().name == name
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == current_theme().window


@pytest.mark.slow
def test_that_the_system_theme_is_one_of_the_two_and_the_same_again_is_no_change(qapp, qtbot):
    apply_theme(qapp, "system")
    assert current_theme() in (LIGHT, DARK)
    apply_theme(qapp, "light")
    with qtbot.assertNotEmitted(theme_notifier().changed):
        apply_theme(qapp, "light")


@pytest.mark.slow
def test_that_nothing_is_collected_while_qt_walks_over_all_widgets(qapp, qtbot):
    seen = []

    class Watching(QWidget):
        def changeEvent(self, event):  # noqa: N802
            seen.append(gc.isenabled())

    widget = Watching()
    qtbot.addWidget(widget)
    widget.show()
    seen.clear()
    apply_theme(qapp, "dark")
    apply_theme(qapp, "light")
    assert set(seen) == {False}
    assert gc.isenabled()
