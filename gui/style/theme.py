"""The two palettes, and the one place that puts them on the application.

Text and muted text have at least 4.5 : 1 contrast on every surface they stand on (a test computes it).
"""

from dataclasses import asdict, dataclass
from functools import cache
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import (
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QProxyStyle,
    QScrollBar,
    QTabBar,
    QWidget,
)

from engine.starting import no_collection


class Fusion(QProxyStyle):
    """Keeps the wheel from controls without the focus, in every window of the program: their panel scrolls.

    A number box or a slider with the focus takes steps: its cursor or its frame shows that it does. A list
    that drops down and a bar of tabs never do. They keep the focus after a choice, when the person is done
    with them and scrolls on.

    A style sees each widget once, before it is shown. A filter of the whole program's events would cost 2 µs
    an event: a third of the time that it takes to make a panel.
    """

    def __init__(self) -> None:
        super().__init__("Fusion")
        self._wheel = _Wheel(self)

    def polish(self, what: object) -> object:  # type: ignore[override]  # of a widget, a palette, the program
        if isinstance(what, QAbstractSpinBox | QComboBox | QAbstractSlider | QTabBar) and not isinstance(
            what, QScrollBar
        ):
            # Nor does the wheel give it the focus.
            if what.focusPolicy() == Qt.FocusPolicy.WheelFocus:
                what.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            what.installEventFilter(self._wheel)
        return super().polish(what)  # type: ignore[call-overload]


class _Wheel(QObject):
    """Filters the events of controls."""

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


# Light and dark.
_COLOURS = {
    "window": ("#f2f4f7", "#1d2025"),
    "base": ("#ffffff", "#15171b"),
    "raised": ("#e6e9ee", "#2a2e36"),
    "text": ("#1a1e24", "#e7e9ed"),
    "muted": ("#525b67", "#a6aeba"),
    "accent": ("#0b5fc0", "#5aaaf5"),
    "accent_text": ("#ffffff", "#0a1018"),
    "line": ("#c3c9d2", "#414852"),
    "outline": ("#858d99", "#727b88"),
    "positive": ("#c65a00", "#f59a4a"),
    "negative": ("#0067a5", "#58b2ec"),
    "good": ("#136a2e", "#56c777"),
    "warning": ("#7a5200", "#e2b340"),
    "error": ("#b3202a", "#ff8a82"),
    "checker_light": ("#ffffff", "#3a3f48"),
    "checker_dark": ("#d9dde3", "#2a2e36"),
}
LIGHT = Theme("light", **{use: light for use, (light, _) in _COLOURS.items()})
DARK = Theme("dark", **{use: dark for use, (_, dark) in _COLOURS.items()})


class _Notifier(QObject):
    """For widgets that paint by hand."""

    changed = Signal(object)  # the new Theme


# Controls that do not fill their background with `Window`.
_OUTLINED = (
    *("QAbstractSpinBox", "QCheckBox", "QComboBox", "QLineEdit", "QProgressBar", "QPushButton"),
    "QRadioButton",
)

_HAS_FONT = Qt.WidgetAttribute.WA_SetFont

_current = LIGHT
_choice: ThemeName = "light"
_follows_system = False


def current_theme() -> Theme:
    """Return the theme that is shown now."""
    return _current


@cache
def theme_notifier() -> _Notifier:
    """Return the object whose signal `changed(Theme)` follows each change of theme."""
    return _Notifier()


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
    role, is_light = QPalette.ColorRole, theme.name == "light"
    palette = QPalette()
    for colour, roles in (
        (theme.window, (role.Window, role.AlternateBase)),
        (theme.text, (role.WindowText, role.Text, role.ButtonText, role.ToolTipText)),
        (theme.base, (role.Base, role.Light if is_light else role.Dark)),
        (theme.muted, (role.PlaceholderText,)),
        (theme.raised, (role.Button, role.ToolTipBase, role.Midlight)),
        (theme.error, (role.BrightText,)),
        (theme.accent, (role.Highlight, role.Accent, role.Link, role.LinkVisited)),
        (theme.accent_text, (role.HighlightedText,)),
        (theme.line, (role.Mid, role.Dark if is_light else role.Light)),
        (theme.line if is_light else "#000000", (role.Shadow,)),
    ):
        for which in roles:
            palette.setColor(which, QColor(colour))
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
        app.setStyle(Fusion())
    palette = palette_of(theme)
    app.setPalette(palette)
    # Fusion outlines controls in `Window` darkened by 1.4, which on dark is invisible.
    palette.setColor(QPalette.ColorRole.Window, QColor(theme.outline).lighter(140))
    for control in _OUTLINED:
        # PySide6 6.11.3 takes a text here; its stubs and its error message say bytes.
        app.setPalette(palette, control)  # type: ignore[arg-type]
    # Qt gives each widget the font that it had when it was first dressed by a sheet.
    own = [(one, QFont(one.font())) for one in app.allWidgets() if one.testAttribute(_HAS_FONT)]
    app.setStyleSheet(STYLE_SHEET.format(**asdict(theme)))
    for widget, font in own:
        if widget.font() != font:
            widget.setFont(font)
    theme_notifier().changed.emit(theme)


def _follow_system(app: QApplication) -> None:
    global _follows_system

    def show(scheme: Qt.ColorScheme) -> None:
        if _choice == "system":
            with no_collection():
                _show(app, _of_scheme(scheme))

    if not _follows_system:
        _follows_system = True
        app.styleHints().colorSchemeChanged.connect(show)


def _of_scheme(scheme: Qt.ColorScheme) -> Theme:
    return DARK if scheme == Qt.ColorScheme.Dark else LIGHT
