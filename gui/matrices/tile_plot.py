"""The effect of the tile: GFLOPS over its side, and dashed what the bandwidth allows."""

from collections.abc import Sequence

from engine.course.paper import Figure, Series
from engine.results.metrics import number_of
from engine.tasks.product.problem import LECTURE_BANDWIDTH_GB_S, ProductResult, tile_of
from gui.matrices.product import MatmulState
from gui.style.metrics import follow
from gui.widgets.plot import FigurePlot

_LIMIT = "bandwidth_limit_gflops"
_EMPTY = (
    "GFLOPS of each variant over the side of its tile.\n"
    "Choose sizes and tiles, then press Multiply matrices (F5)."
)


class TilePlot(FigurePlot):
    """Follows the rows of the page Matrices."""

    def __init__(self, matmul: MatmulState) -> None:
        super().__init__(_EMPTY)
        self.setObjectName("tile plot")
        self._matmul = matmul
        follow(self._follow, matmul.rows_changed)

    def _follow(self) -> None:
        rows = self._matmul.results()
        self.show_figure(tile_figure(rows) if rows else None, limit_words(rows))


def tile_figure(rows: Sequence[ProductResult]) -> Figure:
    """Return the figure of the rows of one product.

    The dashed limits are those of this device's bandwidth where it is known, else those of the lecture's.
    """
    variants = list(dict.fromkeys(row.variant for row in rows if tile_of(row) is not None))
    tiles = [float(tile) for row in rows if (tile := tile_of(row))]
    measured = [_curve(rows, variant, "gflops") for variant in variants]
    for row in rows:
        rate = number_of(row, "gflops")
        if tile_of(row) is None and rate is not None and tiles:
            measured.append(Series(row.title, (min(tiles), max(tiles)), (rate, rate), row.variant))
    known = any(number_of(row, _LIMIT) is not None for row in rows)
    limits = [_curve(rows, variant, _LIMIT if known else "lecture_limit_gflops") for variant in variants]
    title = "Tiling size effects"
    return Figure(title, "side of the tile", "GFLOPS", tuple(measured), tuple(limits), log_y=True)


def limit_words(rows: Sequence[ProductResult]) -> str:
    """Return what the dashed lines are."""
    here = next((row.environment.bandwidth_gb_s for row in rows if row.environment.bandwidth_gb_s), None)
    return f"limit at {here or LECTURE_BANDWIDTH_GB_S:,.4g} GB/s"


def _curve(rows: Sequence[ProductResult], variant: str, key: str) -> Series:
    of_variant = [row for row in rows if row.variant == variant]
    points = [(float(tile), number_of(row, key)) for row in of_variant if (tile := tile_of(row))]
    return Series(variant, tuple(x for x, _ in points), tuple(y for _, y in points), variant)
