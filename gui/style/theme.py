"""The two palettes, and the one place that puts them on the application.

Text and muted text have at least 4.5 : 1 contrast on every surface they stand on (a test computes it).
"""

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from gui.style.sheet import sheet_for

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


LIGHT = Theme(
    name="light",
    window="#f2f4f7",
    base="#ffffff",
    raised="#e6e9ee",
    text="#1a1e24",
    muted="#525b67",
    accent="#0b5fc0",
    accent_text="#ffffff",
    line="#c3c9d2",
    outline="#858d99",
    positive="#c65a00",
    negative="#0067a5",
    good="#136a2e",
    warning="#7a5200",
    error="#b3202a",
    checker_light="#ffffff",
    checker_dark="#d9dde3",
)

DARK = Theme(
    name="dark",
    window="#1d2025",
    base="#15171b",
    raised="#2a2e36",
    text="#e7e9ed",
    muted="#a6aeba",
    accent="#5aaaf5",
    accent_text="#0a1018",
    line="#414852",
    outline="#727b88",
    positive="#f59a4a",
    negative="#58b2ec",
    good="#56c777",
    warning="#e2b340",
    error="#ff8a82",
    checker_light="#3a3f48",
    checker_dark="#2a2e36",
)


class _Notifier(QObject):
    """Tells who paints by hand that the colours are others now.

    Signals
    -------
    changed(object)
        The new Theme.
    """

    changed = Signal(object)


# Controls that do not fill their background with `Window`.
_OUTLINED = (
    "QAbstractSpinBox",
    "QCheckBox",
    "QComboBox",
    "QLineEdit",
    "QProgressBar",
    "QPushButton",
    "QRadioButton",
)

_current = LIGHT
_choice: ThemeName = "light"
_follows_system = False
_notifier: _Notifier | None = None


def current_theme() -> Theme:
    """Return the theme that is shown now."""
    return _current


def theme_notifier() -> _Notifier:
    """Return the object whose signal `changed(Theme)` follows each change of theme."""
    global _notifier
    if _notifier is None:
        _notifier = _Notifier()
    return _notifier


def apply_theme(app: QApplication, name: ThemeName) -> None:
    """Show a theme everywhere; "system" follows the desktop, also when it changes later."""
    global _choice
    _choice = name
    hints = app.styleHints()
    _follow_system(app)
    if name == "system":
        hints.unsetColorScheme()
        dark = hints.colorScheme() == Qt.ColorScheme.Dark
    else:
        dark = name == "dark"
        hints.setColorScheme(Qt.ColorScheme.Dark if dark else Qt.ColorScheme.Light)
    _show(app, DARK if dark else LIGHT)


def palette_of(theme: Theme) -> QPalette:
    """Return Qt's palette for a theme."""
    role = QPalette.ColorRole
    palette = QPalette()
    for which, colour in (
        (role.Window, theme.window),
        (role.WindowText, theme.text),
        (role.Base, theme.base),
        (role.AlternateBase, theme.window),
        (role.Text, theme.text),
        (role.PlaceholderText, theme.muted),
        (role.Button, theme.raised),
        (role.ButtonText, theme.text),
        (role.BrightText, theme.error),
        (role.ToolTipBase, theme.raised),
        (role.ToolTipText, theme.text),
        (role.Highlight, theme.accent),
        (role.HighlightedText, theme.accent_text),
        (role.Accent, theme.accent),
        (role.Link, theme.accent),
        (role.LinkVisited, theme.accent),
        (role.Light, theme.base if theme.name == "light" else theme.line),
        (role.Midlight, theme.raised),
        (role.Mid, theme.line),
        (role.Dark, theme.line if theme.name == "light" else theme.base),
        (role.Shadow, theme.line if theme.name == "light" else "#000000"),
    ):
        palette.setColor(which, QColor(colour))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, QColor(theme.muted))
    palette.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(theme.line))
    palette.setColor(QPalette.ColorGroup.Disabled, role.HighlightedText, QColor(theme.text))
    return palette


def _outlined(theme: Theme) -> QPalette:
    """Return the palette of controls: Fusion outlines them in `Window` darkened by 1.4, which on dark is invisible."""
    palette = palette_of(theme)
    palette.setColor(QPalette.ColorRole.Window, QColor(theme.outline).lighter(140))
    return palette


def _show(app: QApplication, theme: Theme) -> None:
    global _current
    changed = theme != _current or not app.styleSheet()
    _current = theme
    if not changed:
        return
    # A style sheet replaces the style object's name, so Fusion is set once, before the sheet.
    if not app.styleSheet():
        app.setStyle(QStyleFactory.create("Fusion"))
    app.setPalette(palette_of(theme))
    for control in _OUTLINED:
        # PySide6 6.11.3 takes a text here; its stubs and its error message say bytes.
        app.setPalette(_outlined(theme), control)  # type: ignore[arg-type]
    app.setStyleSheet(sheet_for(theme))
    theme_notifier().changed.emit(theme)


def _follow_system(app: QApplication) -> None:
    global _follows_system
    if not _follows_system:
        _follows_system = True
        app.styleHints().colorSchemeChanged.connect(lambda _: _system_changed(app))


def _system_changed(app: QApplication) -> None:
    if _choice == "system":
        _show(app, DARK if app.styleHints().colorScheme() == Qt.ColorScheme.Dark else LIGHT)
