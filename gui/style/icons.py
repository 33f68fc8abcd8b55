"""Icons by what they are for, coloured by the theme at the moment they are painted.

They are glyphs of the font Material Design Icons that comes with the package qtawesome. The package itself is
not imported: that takes 0.2 s, and it loads twelve fonts. The first icon that is painted loads the one font.
"""

import json
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QIcon, QIconEngine, QPainter, QPixmap

from gui.style.theme import current_theme

# What it is for -> glyph of Material Design Icons.
_GLYPHS: dict[str, str] = {
    "open": "folder-open-outline", "save": "content-save-outline", "batch": "image-multiple-outline",
    "session-open": "folder-open-outline", "session-save": "content-save-cog-outline", "mask-open": "grid",
    "mask-save": "content-save-outline", "export": "table-arrow-right", "copy": "content-copy",
    "run": "play", "run-all": "playlist-play", "cancel": "stop", "clear": "delete-outline",
    "zoom-in": "magnify-plus-outline", "zoom-out": "magnify-minus-outline",
    "zoom-fit": "fit-to-page-outline", "zoom-actual": "numeric-1-box-outline",
    "layout": "view-dashboard-outline", "keyboard": "keyboard-outline", "help": "help-circle-outline",
    "about": "information-outline", "quit": "logout", "settings": "cog-outline",
    "load": "arrow-right-bold-box-outline", "split": "compare", "original": "image-outline",
    "result": "image-filter-center-focus", "flip": "rotate-3d-variant", "normalise": "division",
    "drag": "export-variant", "mask": "grid", "info": "information-outline", "good": "check-circle-outline",
    "warning": "alert-outline", "error": "alert-circle-outline", "device": "chip", "retry": "restart",
}  # fmt: skip

# Of an icon's height: the rest is the font's own margin.
_GLYPH_SIZE = 0.875


def icon(name: str) -> QIcon:
    """Return the icon for a purpose, or for a glyph of Material Design Icons by its own name; "" has none."""
    return QIcon(_ThemedEngine(_GLYPHS.get(name, name))) if name else QIcon()


@cache
def _font() -> tuple[str, dict[str, str]]:
    """Load the font; return its family, and the letters by the names of the glyphs."""
    spec = find_spec("qtawesome")
    assert spec is not None
    assert spec.origin is not None
    fonts, endings = Path(spec.origin).parent / "fonts", ("[0-9]*.ttf", "charmap-*.json")
    font, names = (next(fonts.glob(f"materialdesignicons6-webfont-{what}")) for what in endings)
    families = QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(font)))
    codes = json.loads(names.read_text(encoding="utf-8"))
    return families[0], {name: chr(int(code, 16)) for name, code in codes.items()}


@lru_cache(maxsize=512)
def _pixmap(glyph: str, colour: str, width: int, height: int, ratio: float) -> QPixmap:
    pixmap = QPixmap(QSize(width, height) * ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    family, letters = _font()
    painter, font = QPainter(pixmap), QFont(family)
    font.setPixelSize(round(_GLYPH_SIZE * pixmap.height()))
    painter.setFont(font)
    painter.setPen(QColor(colour))
    painter.drawText(pixmap.rect(), Qt.AlignmentFlag.AlignCenter, letters[glyph])
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


class _ThemedEngine(QIconEngine):
    """Paints one glyph in the colours of the current theme."""

    def __init__(self, glyph: str) -> None:
        super().__init__()
        self._glyph = glyph

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        device = painter.device()
        ratio = device.devicePixelRatioF() if device is not None else 1.0
        painter.drawPixmap(rect, _pixmap(self._glyph, _colour(mode), rect.width(), rect.height(), ratio))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        # Of a screen with more pixels Qt asks for so many more.
        return _pixmap(self._glyph, _colour(mode), size.width(), size.height(), 1.0)

    def clone(self) -> QIconEngine:
        return _ThemedEngine(self._glyph)


def _colour(mode: QIcon.Mode) -> str:
    theme = current_theme()
    return {QIcon.Mode.Disabled: theme.outline, QIcon.Mode.Selected: theme.accent_text}.get(mode, theme.text)
