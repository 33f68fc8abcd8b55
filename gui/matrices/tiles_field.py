"""The tiles to compare: numbers from 2 to 32 with commas; others are refused with the nearest legal one."""

from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from engine.errors import EngineError
from engine.tasks.product.tile import LARGEST_TILE, SMALLEST_TILE, as_tile
from gui.matrices.matmul_state import MatmulState
from gui.style.metrics import HALF_GRID, number_font
from gui.widgets.panel_parts import column, menu_button, row
from gui.widgets.refusal import Refusal

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

    def __init__(self, matmul: MatmulState) -> None:
        super().__init__()
        self._matmul = matmul
        self._shown: tuple[int, ...] = ()
        self.field = QLineEdit()
        self.refusal = Refusal()
        self._build()
        self.field.editingFinished.connect(self._take)
        # While a text is typed, the refusal of the one before no longer holds.
        self.field.textEdited.connect(lambda: self.refusal.say(""))
        matmul.settings_changed.connect(self._follow)
        matmul.settling.connect(self._settle)
        self._show()

    def _build(self) -> None:
        self.field.setAccessibleName("Tiles, sides with commas")
        self.field.setFont(number_font())
        self.field.setToolTip(
            f"Sides of the square block of threads, {SMALLEST_TILE} to {LARGEST_TILE}, with commas: each is "
            "a row of the table and a point of the plot. For matmul-tiled also the tiles in shared memory."
        )
        menu = QMenu()
        for text, tiles in _SETS:
            menu.addAction(text).triggered.connect(
                lambda _checked=False, chosen=tiles: self._matmul.change(tiles=chosen)
            )
        sets = menu_button("Sets", "Sets of tiles", "Tiles that are often compared.", menu)
        line = row((self.field, 1), sets, spacing=HALF_GRID)
        self.setLayout(column(line, self.refusal, spacing=HALF_GRID))

    def _follow(self) -> None:
        # Another setting changed: what is being typed here stays.
        if self._matmul.settings.tiles != self._shown:
            self._show()

    def _show(self) -> None:
        self._shown = self._matmul.settings.tiles
        self.field.setText(", ".join(str(tile) for tile in self._shown))
        # Show the beginning of a long list.
        self.field.setCursorPosition(0)
        self.refusal.say("")

    def _take(self) -> None:
        words = [word for word in self.field.text().replace(";", ",").split(",") if word.strip()]
        try:
            tiles = tuple(sorted({as_tile(word.strip()) for word in words}))
        except EngineError as error:
            self.refusal.say(str(error))
            return
        if not tiles:
            self.refusal.say(f"Write at least one tile, {SMALLEST_TILE} to {LARGEST_TILE}.")
            return
        self._matmul.change(tiles=tiles)
        self._show()

    def _settle(self, refusals: list[str]) -> None:
        self._take()
        if self.refusal.text():
            refusals.append(self.refusal.text())
