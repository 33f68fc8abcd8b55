import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon

from gui.style import icons
from gui.style.theme import apply_theme, current_theme


def colours(icon: QIcon) -> set[str]:
    image = icon.pixmap(QSize(16, 16)).toImage()
    points = ((x, y) for x in range(image.width()) for y in range(image.height()))
    return {c.name() for c in (image.pixelColor(*point) for point in points) if c.alpha() == 255}


@pytest.fixture
def loaded(qapp):
    icons.load_icons()


def test_that_every_purpose_has_a_glyph_in_the_library(loaded):
    for name in (*icons._GLYPHS, "undo", "redo", "compare", "close"):
        assert not icons.icon(name).pixmap(QSize(16, 16)).isNull(), name


@pytest.mark.slow
def test_that_an_icon_takes_the_colours_of_a_new_theme_and_a_disabled_one_is_fainter(qapp, loaded):
    shown = icons.icon("cancel")
    for name in ("dark", "light"):
        apply_theme(qapp, name)
        assert current_theme().text in colours(shown)
    image = icons.icon("cancel").pixmap(QSize(16, 16), QIcon.Mode.Disabled).toImage()
    assert image.pixelColor(8, 8).name() == current_theme().line
