"""The tiles to compare: numbers from 2 to 32 with commas; what is no tile is refused in words, with the nearest legal."""

from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QMenu, QToolButton, QVBoxLayout, QWidget

from engine.errors import EngineError
from engine.tasks.product.tile import LARGEST_TILE, SMALLEST_TILE, as_tile
from gui.matrices.matmul_state import MatmulState
from gui.style.metrics import HALF_GRID, number_font
from gui.style.theme import current_theme, theme_notifier

_EVERY = tuple(range(SMALLEST_TILE, LARGEST_TILE + 1))
_SETS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("Doubling: 2, 4, 8, 16, 32", (2, 4, 8, 16, 32)),
    ("Whole warps: 8, 16, 24, 32", (8, 16, 24, 32)),
    ("The lecture's example: 16", (16,)),
    ("Every fourth: 4, 8, 12 … 32", tuple(range(4, LARGEST_TILE + 1, 4))),
    (f"Every tile: {SMALLEST_TILE} to {LARGEST_TILE}", _EVERY),
)


class TilesField(QWidget):
    """Edits `MatmulSettings.tiles`."""

    def __init__(self, matmul: MatmulState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._matmul = matmul
        self._shown: tuple[int, ...] = ()
        self.field = QLineEdit()
        self.menu_button = QToolButton()
        self.refusal = QLabel()
        self._build()
        self.field.editingFinished.connect(self._take)
        self.field.textEdited.connect(self._judge)
        matmul.settings_changed.connect(self._follow)
        matmul.settling.connect(self._settle)
        theme_notifier().changed.connect(self._paint)
        self._show()

    def _build(self) -> None:
        self.field.setAccessibleName("Tiles, sides with commas")
        self.field.setFont(number_font())
        self.field.setToolTip(
            f"Sides of the square block of threads, {SMALLEST_TILE} to {LARGEST_TILE}, with commas: each is a row of the "
            "table and a point of the plot. For matmul-tiled also the tiles in shared memory."
        )
        self.menu_button.setText("Sets")
        self.menu_button.setToolTip("Tiles that are often compared.")
        self.menu_button.setAccessibleName("Sets of tiles")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        # Fusion draws the arrow over the text without this.
        self.menu_button.setMinimumWidth(self.menu_button.sizeHint().width() + 3 * HALF_GRID)
        menu = QMenu(self.menu_button)
        for text, tiles in _SETS:
            menu.addAction(text).triggered.connect(
                lambda _checked=False, chosen=tiles: self._matmul.change(tiles=chosen)
            )
        self.menu_button.setMenu(menu)
        self.refusal.setWordWrap(True)
        line = QHBoxLayout()
        line.setSpacing(HALF_GRID)
        line.addWidget(self.field, 1)
        line.addWidget(self.menu_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(HALF_GRID)
        column.addLayout(line)
        column.addWidget(self.refusal)
        self._paint()

    def _follow(self) -> None:
        # Another setting changed: what is being typed here stays.
        if self._matmul.settings.tiles != self._shown:
            self._show()

    def _show(self) -> None:
        self._shown = self._matmul.settings.tiles
        self.field.setText(", ".join(str(tile) for tile in self._shown))
        # Of a long list the first ones are seen.
        self.field.setCursorPosition(0)
        self._refuse("")

    def _judge(self) -> None:
        """While a person types, only take back what was said of the text before."""
        self._refuse("")

    def _take(self) -> None:
        words = [word for word in self.field.text().replace(";", ",").split(",") if word.strip()]
        try:
            tiles = tuple(sorted({as_tile(word.strip()) for word in words}))
        except EngineError as error:
            self._refuse(str(error))
            return
        if not tiles:
            self._refuse(f"Write at least one tile, {SMALLEST_TILE} to {LARGEST_TILE}.")
            return
        self._matmul.change(tiles=tiles)
        self._show()

    def _settle(self, refusals: list[str]) -> None:
        self._take()
        if self.refusal.text():
            refusals.append(self.refusal.text())

    def _refuse(self, words: str) -> None:
        self.refusal.setText(words)
        self.refusal.setVisible(bool(words))

    def _paint(self) -> None:
        self.refusal.setStyleSheet(f"color: {current_theme().error}")
