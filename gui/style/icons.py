"""Icons of the qtawesome library by what they are for, coloured by the theme at the moment they are painted.

qtawesome takes about 0.2 s to import, so an icon is empty until `load_icons` was called, after the first
paint. Each icon has its size from the start and nothing moves then.
"""

from functools import lru_cache
from typing import Any

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtWidgets import QApplication

from gui.style.theme import current_theme

# What it is for -> glyph of Material Design Icons.
_GLYPHS: dict[str, str] = {
    "open": "folder-open-outline", "save": "content-save-outline", "batch": "image-multiple-outline",
    "session-open": "folder-open-outline", "session-save": "content-save-cog-outline", "mask-open": "grid",
    "mask-save": "content-save-outline", "export": "table-arrow-right", "copy": "content-copy",
    "run": "play", "run-all": "playlist-play", "cancel": "stop", "clear": "delete-outline",
    "zoom-in": "magnify-plus-outline", "zoom-out": "magnify-minus-outline",
    "zoom-fit": "fit-to-page-outline", "zoom-actual": "numeric-1-box-outline", "theme": "theme-light-dark",
    "layout": "view-dashboard-outline", "keyboard": "keyboard-outline", "help": "help-circle-outline",
    "about": "information-outline", "quit": "logout", "settings": "cog-outline",
    "load": "arrow-right-bold-box-outline", "split": "compare", "original": "image-outline",
    "result": "image-filter-center-focus", "flip": "rotate-3d-variant", "normalise": "division",
    "drag": "export-variant", "mask": "grid", "info": "information-outline", "good": "check-circle-outline",
    "warning": "alert-outline", "error": "alert-circle-outline", "device": "chip", "retry": "restart",
}  # fmt: skip

_loaded: Any = None


def icon(name: str) -> QIcon:
    """Return the icon for a purpose, or for a glyph of Material Design Icons by its own name."""
    return QIcon(_ThemedEngine(_GLYPHS.get(name, name)))


def load_icons() -> None:
    """Load the library, and paint every widget that has been waiting for its icon."""
    global _loaded
    if _loaded is None:
        import qtawesome

        _loaded = qtawesome
        for widget in QApplication.allWidgets():
            widget.update()


@lru_cache(maxsize=512)
def _pixmap(glyph: str, colour: str, width: int, height: int, ratio: float) -> QPixmap:
    return QPixmap(_loaded.icon(f"mdi6.{glyph}", color=colour).pixmap(QSize(width, height), ratio))


class _ThemedEngine(QIconEngine):
    """Paints one glyph in the colours of the current theme."""

    def __init__(self, glyph: str) -> None:
        super().__init__()
        self._glyph = glyph

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        if _loaded is None:
            return
        device = painter.device()
        ratio = device.devicePixelRatioF() if device is not None else 1.0
        painter.drawPixmap(rect, _pixmap(self._glyph, _colour(mode), rect.width(), rect.height(), ratio))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        pixmap = QPixmap(size)
        pixmap.fill(Qt.GlobalColor.transparent)
        if _loaded is not None:
            pixmap.setDevicePixelRatio(scale)
            painter = QPainter(pixmap)
            self.paint(painter, QRect(QPoint(0, 0), pixmap.deviceIndependentSize().toSize()), mode, state)
            painter.end()
        return pixmap

    def clone(self) -> QIconEngine:
        return _ThemedEngine(self._glyph)


def _colour(mode: QIcon.Mode) -> str:
    theme = current_theme()
    return {QIcon.Mode.Disabled: theme.outline, QIcon.Mode.Selected: theme.accent_text}.get(mode, theme.text)
