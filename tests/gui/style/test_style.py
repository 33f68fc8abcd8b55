import gc

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPalette
from PySide6.QtWidgets import QLabel, QScrollArea, QSpinBox, QSplitter, QVBoxLayout, QWidget

from engine.work.operations.contract import OPERATION_VARIANTS
from gui.explore.explain.tile_painter import tint
from gui.explore.inspect.histogram_plot import CHANNEL_COLOURS
from gui.style import icons
from gui.style.metrics import EARLIER_OPACITY, digits_width, number_font, scaled_font, set_letter_size
from gui.style.theme import (
    DARK,
    LIGHT,
    VariantStyle,
    apply_theme,
    current_theme,
    heat,
    mixed,
    palette_of,
    readable_text,
    series_at,
    series_for,
    theme_notifier,
)
from gui.style.theme import contrast as contrast_of


def contrast(one: str, other: str) -> float:
    return contrast_of(QColor(one), QColor(other))


both = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)


@both
def test_that_words_and_outlines_can_be_seen_on_every_surface_and_in_each_role_of_the_palette(theme):
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=1e-3), "as WCAG 2 has it"
    words = ("text", "muted", "good", "warning", "error", "accent")
    pairs = [(role, surface, 4.5) for role in words for surface in ("window", "base", "raised")]
    pairs += [("accent_text", "accent", 4.5), ("outline", "window", 3.0), ("outline", "base", 3.0)]
    assert [pair for pair in pairs if contrast(*(getattr(theme, name) for name in pair[:2])) < pair[2]] == []
    palette, groups, roles = palette_of(theme), QPalette.ColorGroup, QPalette.ColorRole
    measured = {
        (group.name, *pair): contrast(*(palette.color(group, roles[role]).name() for role in pair))
        for group in (groups.Active, groups.Inactive, groups.Disabled)
        for pair in ROLES
    }
    assert {pair: ratio for pair, ratio in measured.items() if ratio < 4.5} == {}


ROLES = (
    *(("WindowText", "Window"), ("Text", "Base"), ("Text", "AlternateBase"), ("ButtonText", "Button")),
    *(("ToolTipText", "ToolTipBase"), ("HighlightedText", "Highlight")),
    *((link, ground) for link in ("Link", "LinkVisited") for ground in ("Base", "Window")),
    *(
        (words, ground)
        for words in ("PlaceholderText", "BrightText")
        for ground in ("Base", "AlternateBase", "Window", "Button")
    ),
)


@both
def test_that_marks_and_numbers_of_plots_can_be_seen_and_read_wherever_they_are_drawn(theme):
    grounds = {name: getattr(theme, name) for name in ("base", "window", "raised")}
    hues = {series_at(position, theme).colour for position in range(10)}
    marks = {(hue, name): contrast(hue, ground) for hue in hues for name, ground in grounds.items()}
    marks |= {(one, "base"): contrast(one, theme.base) for one in CHANNEL_COLOURS[theme.name]}
    assert {pair: ratio for pair, ratio in marks.items() if ratio < 3.0} == {}
    numbers = {(hue, "a tile's cell"): contrast(theme.text, tint(hue, theme).name()) for hue in hues}
    dimmed = {word: mixed(QColor(theme.base), QColor(getattr(theme, word)), EARLIER_OPACITY).name()
              for word in ("text", "muted")}  # fmt: skip
    numbers["earlier runs", "base"] = contrast(dimmed["text"], theme.base)
    assert {pair: ratio for pair, ratio in numbers.items() if ratio < 4.5} == {}
    assert contrast(dimmed["muted"], theme.base) >= 3.0, "the words of an axis"


def test_that_the_numbers_of_a_heat_map_can_be_read():
    colours = [heat(share / 50) for share in range(51)]
    brightness = [contrast(colour.name(), "#000000") for colour in colours]
    assert brightness == sorted(brightness)
    texts = {(one.name(), readable_text(one, theme).name()) for one in colours for theme in (LIGHT, DARK)}
    assert [pair for pair in texts if contrast(*pair) < 4.5] == []


@pytest.mark.slow
def test_that_a_change_of_theme_reaches_all_once_and_nothing_is_collected(qapp, qtbot, show_widget):
    seen, shown = [], icons.icon("cancel")

    class Watching(QWidget):
        def changeEvent(self, event):  # noqa: N802
            seen.append(gc.isenabled())

    _watching = show_widget(Watching())
    apply_theme(qapp, "light")
    seen.clear()
    for name in ("dark", "light"):
        with qtbot.waitSignal(theme_notifier().changed) as caught:
            apply_theme(qapp, name)
        assert caught.args == [current_theme()]
        assert current_theme().name == name
        assert qapp.palette().color(QPalette.ColorRole.Window).name() == current_theme().window
        assert current_theme().text in colours(shown)
    with qtbot.assertNotEmitted(theme_notifier().changed):
        apply_theme(qapp, "light")
    # Qt walks over all widgets meanwhile.
    assert set(seen) == {False}
    # A thread of an earlier test may still compile.
    qtbot.waitUntil(gc.isenabled)


def colours(icon: QIcon) -> set[str]:
    image = icon.pixmap(QSize(16, 16)).toImage()
    points = ((x, y) for x in range(image.width()) for y in range(image.height()))
    return {c.name() for c in (image.pixelColor(*point) for point in points) if c.alpha() == 255}


def test_that_every_purpose_has_a_glyph_in_the_library(qapp):
    for name in (*icons._GLYPHS, "undo", "redo", "compare", "close"):
        assert not icons.icon(name).pixmap(QSize(16, 16)).isNull(), name
    assert icons.icon("").isNull()


def test_that_every_figure_has_the_same_width(qapp):
    metrics = QFontMetrics(number_font())
    assert len({metrics.horizontalAdvance(figure * 100) for figure in "0123456789"}) == 1
    assert all(digits_width(count) >= metrics.horizontalAdvance("8" * count) for count in (1, 4, 12))


FIRST_FIVE = ("cpu-serial", "cpu-parallel", "naive", "tiled", "cached")
LADDER = (
    *FIRST_FIVE,
    *("constant", "tiled-input", "separable-l0", "separable-l1", "separable-l2", "implicit-gemm"),
    *("register-blocked", "digit-sums", "separable-fused", "low-rank-2", "low-rank-3"),
)


@both
def test_that_curves_and_kernels_of_an_operation_stand_out_from_the_ground_and_from_one_another(theme):
    first = [series_for(key, theme) for key in FIRST_FIVE]
    assert len({one.colour for one in first}) == len({one.symbol for one in first}) == len(FIRST_FIVE)
    assert len({series_for(key, theme) for key in LADDER}) == len(LADDER)
    looks = {key: series_for(key, theme) for key in (*LADDER, *(one.key for one in OPERATION_VARIANTS))}
    assert [key for key, look in looks.items() if contrast(look.colour, theme.base) < 3.0] == []
    for operation in {one.operation for one in OPERATION_VARIANTS}:
        own = [looks[one.key] for one in OPERATION_VARIANTS if one.operation == operation]
        assert len({look.colour for look in own}) == len(own)
        assert len({look.symbol for look in own}) == 1, operation


def test_that_a_shape_does_not_depend_on_the_theme_nor_an_unknown_key_on_the_process():
    assert series_for("tiled", LIGHT).symbol == series_for("tiled", DARK).symbol
    assert series_for("somebody-elses", LIGHT) == VariantStyle("#b85c92", "t", "▼")


@pytest.fixture
def usual_letters(qapp):
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
def test_that_letters_keep_their_size_whatever_the_theme_does(qapp, qtbot, light_again, usual_letters):
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
    for step in ("dark", 150, "light", 80, "dark", "light", 200, 100):
        if isinstance(step, int):
            percent = step
            set_letter_size(qapp, percent)
        else:
            apply_theme(qapp, step)
        for widget, share in shares.items():
            assert widget.font().pointSizeF() == pytest.approx(usual * share * percent / 100)
