"""GFLOPS over the side of the tile, as a figure: what was measured, and dashed what the bandwidth allows."""

from collections.abc import Callable, Sequence

from engine.course.paper import Figure, Series
from engine.results.product import MatmulResult
from engine.tasks.product.lecture import LECTURE_BANDWIDTH_GB_S

TITLE = "Tiling size effects"


def tile_figure(rows: Sequence[MatmulResult]) -> Figure:
    """Return the figure of the rows of one product.

    The dashed limits are those of this device's bandwidth where it is known, else those of the lecture's.
    """
    variants = list(dict.fromkeys(row.variant for row in rows if row.tile is not None))
    tiles = [float(row.tile) for row in rows if row.tile is not None]
    measured = [_curve(rows, variant, lambda row: row.gflops) for variant in variants]
    measured += [
        Series(row.title, (min(tiles), max(tiles)), (row.gflops, row.gflops), row.variant)
        for row in rows
        if row.tile is None and row.gflops is not None and tiles
    ]
    known = any(row.limited_gflops is not None for row in rows)
    limits = [
        _curve(rows, variant, lambda row: row.limited_gflops if known else row.lecture_gflops)
        for variant in variants
    ]
    return Figure(TITLE, "side of the tile", "GFLOPS", tuple(measured), tuple(limits), log_y=True)


def limit_words(rows: Sequence[MatmulResult]) -> str:
    """Return what the dashed lines are."""
    here = next((row.bandwidth_gb_s for row in rows if row.bandwidth_gb_s is not None), None)
    return f"limit at {here or LECTURE_BANDWIDTH_GB_S:,.4g} GB/s"


def _curve(
    rows: Sequence[MatmulResult], variant: str, value: Callable[[MatmulResult], float | None]
) -> Series:
    of_variant = [row for row in rows if row.variant == variant and row.tile is not None]
    return Series(
        variant,
        tuple(float(row.tile or 0) for row in of_variant),
        tuple(value(row) for row in of_variant),
        variant,
    )
