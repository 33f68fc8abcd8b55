"""GFLOPS over the side of the tile, as a figure: what was measured, and dashed what the bandwidth allows."""

from collections.abc import Sequence

from engine.course.paper import Figure, Series
from engine.results.measurement import ProductResult
from engine.results.metrics import number_of
from engine.tasks.product.lecture import LECTURE_BANDWIDTH_GB_S

TITLE = "Tiling size effects"
_LIMIT = "bandwidth_limit_gflops"


def tile_figure(rows: Sequence[ProductResult]) -> Figure:
    """Return the figure of the rows of one product.

    The dashed limits are those of this device's bandwidth where it is known, else those of the lecture's.
    """
    variants = list(dict.fromkeys(row.variant for row in rows if row.tile is not None))
    tiles = [float(row.tile) for row in rows if row.tile is not None]
    measured = [_curve(rows, variant, "gflops") for variant in variants]
    measured += [
        Series(
            row.title,
            (min(tiles), max(tiles)),
            (number_of(row, "gflops"), number_of(row, "gflops")),
            row.variant,
        )
        for row in rows
        if row.tile is None and number_of(row, "gflops") is not None and tiles
    ]
    known = any(number_of(row, _LIMIT) is not None for row in rows)
    limits = [_curve(rows, variant, _LIMIT if known else "lecture_limit_gflops") for variant in variants]
    return Figure(TITLE, "side of the tile", "GFLOPS", tuple(measured), tuple(limits), log_y=True)


def limit_words(rows: Sequence[ProductResult]) -> str:
    """Return what the dashed lines are."""
    here = next((row.environment.bandwidth_gb_s for row in rows if row.environment.bandwidth_gb_s), None)
    return f"limit at {here or LECTURE_BANDWIDTH_GB_S:,.4g} GB/s"


def _curve(rows: Sequence[ProductResult], variant: str, key: str) -> Series:
    of_variant = [row for row in rows if row.variant == variant and row.tile is not None]
    return Series(
        variant,
        tuple(float(row.tile or 0) for row in of_variant),
        tuple(number_of(row, key) for row in of_variant),
        variant,
    )
