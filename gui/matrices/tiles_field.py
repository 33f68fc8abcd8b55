"""The tiles to compare: numbers from 2 to 32 with commas; others are refused with the nearest legal one."""

from engine.errors import EngineError
from engine.tasks.product.tile import LARGEST_TILE, SMALLEST_TILE, as_tile
from gui.matrices.matmul_state import MatmulState
from gui.widgets.list_field import ListField

_EVERY = tuple(range(SMALLEST_TILE, LARGEST_TILE + 1))
_SETS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("Doubling: 2, 4, 8, 16, 32", (2, 4, 8, 16, 32)),
    ("Whole warps: 8, 16, 24, 32", (8, 16, 24, 32)),
    ("The lecture's example: 16", (16,)),
    ("Every fourth: 4, 8, 12 … 32", tuple(range(4, LARGEST_TILE + 1, 4))),
    (f"Every tile: {SMALLEST_TILE} to {LARGEST_TILE}", _EVERY),
)


class TilesField(ListField):
    """Edits `MatmulSettings.tiles`."""

    def __init__(self, matmul: MatmulState) -> None:
        super().__init__("tiles", _SETS, _read, lambda tiles: ", ".join(map(str, tiles)))
        self.field.setAccessibleName("Tiles, sides with commas")
        self.field.setToolTip(
            f"Sides of the square block of threads, {SMALLEST_TILE} to {LARGEST_TILE}, with commas: each is "
            "a row of the table and a point of the plot. For matmul-tiled also the tiles in shared memory."
        )
        self.chosen.connect(lambda tiles: matmul.change(tiles=tiles))
        matmul.settings_changed.connect(lambda settings: self.show_items(settings.tiles))
        matmul.settling.connect(self._settle)
        self.show_items(matmul.settings.tiles)

    def _settle(self, refusals: list[str]) -> None:
        self.take()
        if self.is_refused:
            refusals.append(self.refusal.text())


def _read(text: str) -> tuple[tuple[int, ...], str]:
    words = [word for word in text.replace(";", ",").split(",") if word.strip()]
    if not words:
        raise EngineError(f"Write at least one tile, {SMALLEST_TILE} to {LARGEST_TILE}.")
    return tuple(sorted({as_tile(word.strip()) for word in words})), ""
