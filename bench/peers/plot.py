"""Figures of the documents as SVG, and the one of a run: time against mask size, the limit drawn below."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.peers.cells import Cell
from bench.peers.summary import OURS, contenders_of, limit_ms, limits_of, median_ms
from bench.peers.tables import UNITS
from engine.course.files import MARKERS, as_svg, empty_drawing

# Okabe and Ito's colours, darker where white paper needs it.
COLOURS = ("#0072b2", "#d55e00", "#008a64", "#b87d00", "#b85c92", "#2b8fc9", "#968c00", "#4d5560")
BESIDE: dict[str, Any] = {"frameon": False, "loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
"""A legend right of the axes."""


@contextmanager
def drawn(title: str, height: float = 4.0) -> Iterator[tuple[Any, Any]]:
    """Give an empty drawing and its axes in the style of the documents' figures."""
    with empty_drawing(8.5, height) as (drawing, axes):
        axes.set_title(title, fontsize=10)
        yield drawing, axes


def svg_of(run: dict[str, Any], table: dict[str, Any]) -> bytes:
    """Return one table of a run as SVG; the same run always has the same bytes."""
    unit, scale = UNITS[run["device_kind"]]
    entries = [run["cells"][key] for key in table["cells"]]
    sides = [Cell.from_json(entry["cell"]).mask_side for entry in entries]
    limits = limits_of(run)
    with drawn(f"{table['title']}, {run['machine']['device']}", 5.0) as (drawing, axes):
        for index, name in enumerate(contenders_of(entries)):
            times = {side: median_ms(entry, name) for side, entry in zip(sides, entries, strict=True)}
            if not any(times.values()):
                continue
            axes.plot(
                *_points(times, scale),
                color=COLOURS[index % len(COLOURS)],
                marker=MARKERS[index % len(MARKERS)],
                markersize=5,
                linewidth=2.2 if name.startswith(f"{OURS} ") else 1.3,
                label=name,
            )
        bound = {side: limit_ms(entry, limits) for side, entry in zip(sides, entries, strict=True)}
        axes.plot(*_points(bound, scale), color="#20252c", linestyle="--", linewidth=1.3, label="limit")
        axes.set(xlabel="side of the mask", ylabel=f"{unit} a picture", xscale="log", yscale="log")
        axes.set_xticks(sides, [str(side) for side in sides])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(**BESIDE)
        return as_svg(drawing, table["title"])


def _points(times: dict[int, float | None], scale: float) -> tuple[list[int], list[float]]:
    points = {side: time * scale for side, time in times.items() if time}
    return list(points), list(points.values())
