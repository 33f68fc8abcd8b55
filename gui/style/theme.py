"""The colours: two palettes, which one place puts on the application, and those of variants and of cells.

Text and muted text have at least 4.5 : 1 contrast on every surface they stand on (a test computes it).

The colour and shape of each variant are the same on every page, so that a curve is known by sight. Colours
are those of Okabe and Ito, which people with any colour vision can tell apart, darker on a light ground and
lighter on a dark one where they would have less than 3 : 1 contrast, on selected rows too. A shape goes with
each, because colour alone never says anything here. Cells with numbers are coloured by sign and size of a
weight, or by how good a time is.
"""

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import (
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QMainWindow,
    QProxyStyle,
    QScrollBar,
    QTabBar,
    QWidget,
)

from engine.process import no_collection
from gui.style.metrics import Notifier


class Fusion(QProxyStyle):
    """Keeps the wheel from controls without the focus, in every window of the program: their panel scrolls.

    A number box or a slider with the focus takes steps: its cursor or its frame shows that it does. A list
    that drops down and a bar of tabs never do. They keep the focus after a choice, when the person is done
    with them and scrolls on.

    A style sees each widget once, before it is shown. A filter of the whole program's events would cost 2 µs
    an event: a third of the time that it takes to make a panel.
    """

    def polish(self, what: object) -> object:  # type: ignore[override]  # of a widget, a palette, the program
        if isinstance(what, QAbstractSpinBox | QComboBox | QAbstractSlider | QTabBar) and not isinstance(
            what, QScrollBar
        ):
            # Nor does the wheel give it the focus.
            if what.focusPolicy() == Qt.FocusPolicy.WheelFocus:
                what.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            what.installEventFilter(self)
        return super().polish(what)  # type: ignore[call-overload]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.Wheel:
            return False
        assert isinstance(watched, QWidget)
        if isinstance(watched, QAbstractSpinBox | QAbstractSlider) and watched.hasFocus():
            return False
        # Qt offers it to the widgets around.
        event.ignore()
        return True


STYLE_SHEET = """
QMenu {{ background: {base}; border: 1px solid {line}; padding: 4px 0; }}
QMenu::item {{ padding: 4px 24px 4px 8px; }}
QMenu::item:selected {{ background: {raised}; color: {text}; }}
QMenu::item:disabled {{ background: transparent; color: {muted}; }}
QMenu::icon {{ padding-left: 8px; }}
QMenu::separator {{ background: {line}; height: 1px; margin: 4px 8px; }}
QToolTip {{ background: {raised}; color: {text}; border: 1px solid {line}; padding: 4px 6px; }}
QSplitter::handle {{ background: {line}; }}
QSplitter::handle:hover {{ background: {accent}; }}
QFrame#panelTabs {{ border: 0; border-bottom: 1px solid {line}; }}
QToolBar {{ background: {window}; border: 0; spacing: 4px; padding: 8px 4px; }}
QLabel#drop {{ background: {base}; color: {text}; border: 3px dashed {accent}; border-radius: 8px; }}
QToolButton#primary, QToolButton#primaryPart {{ background: {accent}; color: {accent_text}; border: 0;
    border-radius: 4px; padding: 4px 12px; font-weight: 600; }}
QToolButton#primary[hasPart="true"] {{ border-top-right-radius: 0; border-bottom-right-radius: 0; }}
QToolButton#primaryPart {{ border-top-left-radius: 0; border-bottom-left-radius: 0;
    border-left: 1px solid {accent_text}; }}
QToolButton#primary:hover, QToolButton#primary:focus, QToolButton#primaryPart:hover,
QToolButton#primaryPart:focus {{ border: 2px solid {text}; padding: 2px 10px; }}
QToolButton#primary:disabled, QToolButton#primaryPart:disabled {{ background: {raised}; color: {muted}; }}
QFrame#answer {{ background: {base}; border: 0; border-bottom: 1px solid {line}; }}
QToolButton#dragHandle {{ background: {raised}; border: 0; border-radius: 4px; }}
QToolButton#dragHandle:hover {{ border: 1px solid {outline}; }}
QDialogButtonBox {{ dialogbuttonbox-buttons-have-icons: 0; }}
QTableView[dressed="true"]::item {{ padding: 0 5px; }}
QHeaderView::section {{ background: {window}; color: {muted}; border: 0; border-bottom: 1px solid {line};
                        padding: 4px 8px; }}
"""


ThemeName = Literal["light", "dark", "system"]


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by what they are for, each "#rrggbb".

    `line` parts areas; `outline` is drawn around controls and can be seen at 3 : 1 on every surface;
    `positive` and `negative` tint mask cells by sign; `good`, `warning` and `error` are states, also as text;
    `checker_light` and `checker_dark` lie under transparent pictures.
    """

    name: str
    window: str
    base: str
    raised: str
    text: str
    muted: str
    accent: str
    accent_text: str
    line: str
    outline: str
    positive: str
    negative: str
    good: str
    warning: str
    error: str
    checker_light: str
    checker_dark: str


# Light and dark, and the roles of Qt's palette that have the colour in both.
_COLOURS = {
    "window": ("#f2f4f7", "#1d2025", "Window AlternateBase"),
    "base": ("#ffffff", "#15171b", "Base"),
    "raised": ("#e6e9ee", "#2a2e36", "Button ToolTipBase Midlight"),
    "text": ("#1a1e24", "#e7e9ed", "WindowText Text ButtonText ToolTipText"),
    "muted": ("#525b67", "#a6aeba", "PlaceholderText"),
    "accent": ("#0b5fc0", "#5aaaf5", "Highlight Accent Link LinkVisited"),
    "accent_text": ("#ffffff", "#0a1018", "HighlightedText"),
    "line": ("#c3c9d2", "#414852", "Mid"),
    "outline": ("#858d99", "#727b88", ""),
    "positive": ("#c65a00", "#f59a4a", ""),
    "negative": ("#0067a5", "#58b2ec", ""),
    "good": ("#136a2e", "#56c777", ""),
    "warning": ("#7a5200", "#e2b340", ""),
    "error": ("#b3202a", "#ff8a82", "BrightText"),
    "checker_light": ("#ffffff", "#3a3f48", ""),
    "checker_dark": ("#d9dde3", "#2a2e36", ""),
}
LIGHT = Theme("light", **{use: light for use, (light, _, _) in _COLOURS.items()})
DARK = Theme("dark", **{use: dark for use, (_, dark, _) in _COLOURS.items()})


# Controls that do not fill their background with `Window`.
_OUTLINED = "QAbstractSpinBox QCheckBox QComboBox QLineEdit QProgressBar QPushButton QRadioButton"

_HAS_FONT = Qt.WidgetAttribute.WA_SetFont

_current = LIGHT
_choice: ThemeName = "light"


def current_theme() -> Theme:
    """Return the theme that is shown now."""
    return _current


@cache
def theme_notifier() -> Notifier:
    """Return the object whose signal `changed(Theme)` follows each change of theme."""
    return Notifier()


def apply_theme(app: QApplication, name: ThemeName) -> None:
    """Show a theme everywhere; "system" follows the desktop, also when it changes later."""
    global _choice
    _choice = name
    hints = app.styleHints()
    _follow_system(app)
    # Qt walks over all widgets and calls Python: deleting an unused one then is a crash.
    with no_collection():
        if name == "system":
            hints.unsetColorScheme()
            scheme = hints.colorScheme()
        else:
            scheme = Qt.ColorScheme.Dark if name == "dark" else Qt.ColorScheme.Light
            hints.setColorScheme(scheme)
        _show(app, _of_scheme(scheme))


def palette_of(theme: Theme) -> QPalette:
    """Return Qt's palette for a theme."""
    palette, role, is_light = QPalette(), QPalette.ColorRole, theme.name == "light"
    for use, (_, _, names) in _COLOURS.items():
        for name in names.split():
            palette.setColor(role[name], QColor(getattr(theme, use)))
    palette.setColor(role.Light if is_light else role.Dark, QColor(theme.base))
    palette.setColor(role.Dark if is_light else role.Light, QColor(theme.line))
    palette.setColor(role.Shadow, QColor(theme.line if is_light else "#000000"))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, QColor(theme.muted))
    palette.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(theme.line))
    palette.setColor(QPalette.ColorGroup.Disabled, role.HighlightedText, QColor(theme.text))
    return palette


def _show(app: QApplication, theme: Theme) -> None:
    global _current
    changed = theme != _current or not app.styleSheet()
    _current = theme
    if not changed:
        return
    # A style sheet replaces the style object's name, so Fusion is set once, before the sheet.
    if not app.styleSheet():
        app.setStyle(Fusion("Fusion"))
    palette = palette_of(theme)
    app.setPalette(palette)
    # Fusion outlines controls in `Window` darkened by 1.4, which on dark is invisible.
    palette.setColor(QPalette.ColorRole.Window, QColor(theme.outline).lighter(140))
    for control in _OUTLINED.split():
        # PySide6 6.11.3 takes a text here; its stubs and its error message say bytes.
        app.setPalette(palette, control)  # type: ignore[arg-type]
    _dress(app, STYLE_SHEET.format(**asdict(theme)))
    theme_notifier().changed.emit(theme)


def _dress(app: QApplication, sheet: str) -> None:
    # Qt gives each widget the font that it had when it was first dressed by a sheet.
    own = [(one, QFont(one.font())) for one in app.allWidgets() if one.testAttribute(_HAS_FONT)]
    app.setStyleSheet(sheet)
    for widget, font in own:
        if widget.font() != font:
            widget.setFont(font)


@contextmanager
def undressed(app: QApplication) -> Iterator[None]:
    """Take the style sheet away while the first window is made, and bring it back: that takes half the time.

    With a sheet Qt dresses a widget, and all in it, anew for each parent that it gets: six times. Where there
    are others, they would be dressed twice.
    """
    if any(isinstance(one, QMainWindow) for one in app.topLevelWidgets()):
        yield
        return
    sheet = app.styleSheet()
    with no_collection():
        app.setStyleSheet("")
    try:
        yield
    finally:
        with no_collection():
            _dress(app, sheet)


@cache
def _follow_system(app: QApplication) -> None:
    def show(scheme: Qt.ColorScheme) -> None:
        if _choice == "system":
            with no_collection():
                _show(app, _of_scheme(scheme))

    app.styleHints().colorSchemeChanged.connect(show)


def _of_scheme(scheme: Qt.ColorScheme) -> Theme:
    return DARK if scheme == Qt.ColorScheme.Dark else LIGHT


@dataclass(frozen=True, slots=True)
class VariantStyle:
    """How a variant is drawn: colour ("#rrggbb"), and shape as pyqtgraph's marker and as a character."""

    colour: str
    symbol: str
    glyph: str


# (light theme, dark theme) of each hue.
_ORANGE = ("#b07700", "#e69f00")
_SKY = ("#278ac2", "#56b4e9")
_GREEN = ("#008a64", "#1fbf92")
_YELLOW = ("#908600", "#f0e442")
_BLUE = ("#0072b2", "#4a9fe0")
_VERMILION = ("#d55e00", "#f2783c")
_PURPLE = ("#b85c92", "#cc79a7")
_GREY = ("#4d5560", "#b4bcc8")
_HUES = (_BLUE, _ORANGE, _GREEN, _VERMILION, _PURPLE, _SKY, _YELLOW, _GREY)

_CIRCLE, _SQUARE, _UP, _DIAMOND = ("o", "●"), ("s", "■"), ("t1", "▲"), ("d", "◆")
_STAR, _DOWN, _RIGHT, _LEFT = ("star", "★"), ("t", "▼"), ("t2", "▶"), ("t3", "◀")
_CROSS, _PLUS = ("x", "✖"), ("+", "✚")
_SHAPES = (_CIRCLE, _SQUARE, _UP, _DIAMOND, _STAR, _DOWN, _RIGHT, _LEFT, _CROSS, _PLUS)

_TABLE: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "cpu-serial": (_GREY, _CIRCLE), "cpu-parallel": (_SKY, _SQUARE), "naive": (_ORANGE, _UP),
    "constant": (_YELLOW, _DOWN), "tiled-input": (_SKY, _DIAMOND), "tiled": (_GREEN, _DIAMOND),
    "cached": (_VERMILION, _STAR), "separable-l0": (_BLUE, _RIGHT), "separable-l1": (_PURPLE, _LEFT),
    "separable-l2": (_GREEN, _PLUS), "implicit-gemm": (_PURPLE, _CROSS), "register-blocked": (_BLUE, _STAR),
    "digit-sums": (_BLUE, _SQUARE), "separable-fused": (_VERMILION, _SQUARE),
    "low-rank-2": (_ORANGE, _STAR), "low-rank-3": (_PURPLE, _STAR),
    "box": (_YELLOW, _SQUARE), "fft": (_GREY, _DIAMOND),
    "cpu-box": (_YELLOW, _UP), "cpu-fft": (_GREY, _UP), "row-naive": (_ORANGE, _CIRCLE),
    "row-tiled": (_GREEN, _SQUARE), "row-cached": (_VERMILION, _UP), "matmul-naive": (_ORANGE, _DIAMOND),
    "row-constant": (_YELLOW, _CIRCLE), "naive-uncoalesced": (_ORANGE, _DOWN),
    "row-tiled-constant": (_GREEN, _LEFT), "row-cached-constant": (_VERMILION, _RIGHT),
    "cached-constant": (_VERMILION, _DOWN), "cpu-separable-serial": (_GREY, _STAR),
    "matmul-tiled": (_GREEN, _UP), "numpy": (_GREY, _SQUARE),
    "network-serial": (_GREY, _CIRCLE), "network-cpu": (_SKY, _SQUARE), "network-convolution": (_ORANGE, _UP),
    "network-pool": (_YELLOW, _DOWN), "network-connected": (_GREEN, _DIAMOND),
    "network-linearised": (_YELLOW, _LEFT), "network-uncoalesced": (_ORANGE, _PLUS),
    "network-fused": (_VERMILION, _SQUARE), "network-implicit-gemm": (_PURPLE, _CROSS),
    "network-unrolled": (_PURPLE, _LEFT), "network-constant": (_YELLOW, _SQUARE),
    "network-streams": (_BLUE, _RIGHT), "network-fast": (_BLUE, _STAR),
}  # fmt: skip
# Kernels of operations: the shape means which one, the colour how (all cores, global memory, shared memory).
_SHAPE_OF = {
    "negative": _CIRCLE, "desaturate": _SQUARE, "hue-shift": _UP, "histogram": _DIAMOND, "equalise": _PLUS,
    "median": _STAR, "match": _DOWN, "dct": _RIGHT, "minimum": _DOWN, "maximum": _UP, "threshold": _SQUARE,
    "gradient": _RIGHT, "bilateral": _STAR, "morphology": _CROSS, "chain": _LEFT,
}  # fmt: skip
_HUE_OF = {
    "cpu-{}": _SKY, "cuda-{}": _ORANGE, "{}-global": _ORANGE, "{}-naive": _ORANGE, "{}-direct": _ORANGE,
    "{}-shared": _GREEN, "{}-tiled": _GREEN, "{}-local": _VERMILION,
}  # fmt: skip
_TABLE |= {
    how.format(which): (hue, shape) for which, shape in _SHAPE_OF.items() for how, hue in _HUE_OF.items()
}
_TABLE["cuda-equalise"] = _GREEN, _PLUS


def series_at(position: int, theme: Theme | None = None) -> VariantStyle:
    """Return colour and shape of a curve that stands for no variant, by its position among the others."""
    return _series(_HUES[position % len(_HUES)], _SHAPES[position % len(_SHAPES)], theme)


def series_for(variant_key: str, theme: Theme | None = None) -> VariantStyle:
    """Return colour and shape of a variant by its key; an unknown key gets one by its letters."""
    # crc32, because hash() of a text differs from process to process.
    rest, hue = divmod(zlib.crc32(variant_key.encode()), len(_HUES))
    return _series(*_TABLE.get(variant_key, (_HUES[hue], _SHAPES[rest % len(_SHAPES)])), theme)


def _series(hue: tuple[str, str], shape: tuple[str, str], theme: Theme | None) -> VariantStyle:
    return VariantStyle(hue[(theme or current_theme()).name != "light"], *shape)


# A full mix would hide the difference between a cell and the selection frame around it.
_STRONGEST = 0.85
# Cells far below the largest weight must still differ from zeros.
_WEAKEST = 0.10
_LOWEST_CONTRAST = 4.5
# Of heat maps, from the worst to the best: Cividis, whose steps are even for eyes with any colour vision and
# in grey.
HEAT = ("#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838")


def cell_background(weight: float, largest: float, theme: Theme) -> QColor:
    """Return the colour of a cell: from the base colour for 0 to that of its sign for the largest."""
    share = abs(weight) / largest if largest else 0.0
    # NaN is shown as 0 is, in pictures too.
    if not share > 0.0:
        return QColor(theme.base)
    tint = theme.positive if weight > 0.0 else theme.negative
    # The square root keeps the tails of a Gaussian visible.
    part = _WEAKEST + (_STRONGEST - _WEAKEST) * math.sqrt(min(share, 1.0))
    return _between(_parts_of(theme.base), _parts_of(tint), part)


def mixed(low: QColor, high: QColor, part: float) -> QColor:
    """Return the colour between two: `low` for 0, `high` for 1."""
    return _between(_rgb(low), _rgb(high), part)


def _between(low: tuple[float, ...], high: tuple[float, ...], part: float) -> QColor:
    red, green, blue = (one + (other - one) * part for one, other in zip(low, high, strict=True))
    return QColor.fromRgbF(red, green, blue)


# A theme has some forty colours.
@lru_cache(maxsize=128)
def _parts_of(name: str) -> tuple[float, float, float]:
    return _rgb(QColor(name))


# Cells are painted again and again in the same colours.
@lru_cache(maxsize=512)
def heat(share: float) -> QColor:
    """Return the colour between the worst (0) and the best (1)."""
    position = min(max(share, 0.0), 1.0) * (len(HEAT) - 1)
    below = min(int(position), len(HEAT) - 2)
    return mixed(QColor(HEAT[below]), QColor(HEAT[below + 1]), position - below)


def readable_text(background: QColor, theme: Theme) -> QColor:
    """Return the theme's text colour where its contrast is 4.5 or more, else black or white."""
    return QColor(_readable_on(background.rgb(), theme))


# Cells that follow the mouse are painted again and again.
@lru_cache(maxsize=1024)
def _readable_on(background: int, theme: Theme) -> str:
    ground = QColor.fromRgb(background)
    if contrast(QColor(theme.text), ground) >= _LOWEST_CONTRAST:
        return theme.text
    return max("#000000", "#ffffff", key=lambda name: contrast(QColor(name), ground))


def contrast(first: QColor, second: QColor) -> float:
    """Return the contrast of two colours as WCAG 2 defines it, 1 to 21."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: QColor) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4) for part in _rgb(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: QColor) -> tuple[float, float, float]:
    return colour.redF(), colour.greenF(), colour.blueF()
