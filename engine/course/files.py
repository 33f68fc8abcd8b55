"""A paper's files in a folder: PAPER.md, one CSV per table, one SVG per figure (drawn by matplotlib)."""

import io
import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from engine.course.paper import CourseTable, Figure, Paper, Series
from engine.course.sheet import csv_of, markdown_of
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.interrupts import undivided

# The figures of `bench` have the same settings and marks.
# Okabe and Ito's colours, darker where white paper needs it: those that the window gives these variants.
_OF_VARIANT = {
    "cpu-serial": "#4d5560",
    "cpu-separable-serial": "#4d5560",
    "separable-l0": "#0072b2",
    "separable-l1": "#b85c92",
    "separable-l2": "#008a64",
    "matmul-naive": "#b87d00",
    "matmul-tiled": "#008a64",
}
_BY_POSITION = ("#0072b2", "#b87d00", "#008a64", "#d55e00", "#b85c92", "#2b8fc9", "#968c00", "#4d5560")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

# Text stays text, which can be read aloud and searched; the same figure always has the same bytes.
SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "haloscope",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def svg_of(figure: Figure) -> bytes:
    """Return a figure as SVG: this machine's curves drawn through, the paper's printed ones dashed."""
    # Takes half a second: only where figures are drawn.
    import matplotlib.figure

    with matplotlib.rc_context(SETTINGS):
        drawing = matplotlib.figure.Figure(figsize=(7.5, 4.5), layout="constrained")
        axes = drawing.add_subplot()
        for dashed, curves in ((True, figure.printed), (False, figure.series)):
            for position, series in enumerate(curves):
                _draw(axes, series, position, dashed=dashed)
        axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
        if figure.log_y:
            axes.set_yscale("log")
            # Powers would be set in small type that not every program places well.
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.yaxis.set_minor_formatter(lambda value, _: "")
        axes.grid(visible=True, color="#d9dde3", linewidth=0.6)
        axes.set_axisbelow(True)
        if axes.get_lines():
            axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        else:
            axes.text(
                0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center", color="#4d5560"
            )
        return as_svg(drawing, figure.title)


def as_svg(drawing: Any, title: str) -> bytes:
    """Return a drawing of matplotlib as SVG, which has this title and no date; call it within `SETTINGS`."""
    file = io.BytesIO()
    drawing.savefig(file, format="svg", metadata={"Date": None, "Title": title})
    return file.getvalue()


def _draw(axes: Any, series: Series, position: int, *, dashed: bool) -> None:
    points = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    if not points:
        return
    x, y = zip(*points, strict=True)
    axes.plot(
        x,
        y,
        color=_OF_VARIANT.get(series.variant, _BY_POSITION[position % len(_BY_POSITION)]),
        marker=MARKERS[position % len(MARKERS)],
        markersize=5,
        linewidth=1.2 if dashed else 1.8,
        linestyle="--" if dashed else "-",
        markerfacecolor="none" if dashed else None,
        label=f"{series.name} (paper)" if dashed else series.name,
    )


def check_figures(tables: Iterable[CourseTable]) -> None:
    """Raise EngineError where these tables have figures and nothing is there to draw them."""
    if any(table.figure for table in tables) and find_spec("matplotlib") is None:
        raise EngineError("The figures need Matplotlib", "pip install 'haloscope[figures]'")


def write_paper(
    folder: str, paper: Paper, tables: Sequence[CourseTable], machine: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    """Write a paper's files into a folder that exists, and return their names.

    Raises FileWriteError, and what `check_figures` raises. The head of each file has `machine`: names and
    values of what was measured on.
    """
    check_figures(tables)
    contents: dict[str, bytes] = {}
    pictures: dict[str, str] = {}
    for number, table in enumerate(tables, start=1):
        contents[f"{paper.key}-table-{number}.csv"] = csv_of(paper, table, machine).encode()
        if table.figure is not None:
            name = f"{paper.key}-figure-{len(pictures) + 1}.svg"
            contents[name] = svg_of(table.figure)
            pictures[table.figure.title] = name
    contents[f"{paper.key}.md"] = markdown_of(paper, tables, machine, pictures).encode()
    with undivided():
        for name, content in contents.items():
            atomic_write(os.path.join(folder, name), content)
    return tuple(contents)
