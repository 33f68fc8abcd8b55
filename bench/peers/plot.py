"""Time against mask size as SVG, both logarithmic, a line per contender, the limit drawn below."""

from typing import Any

from bench.peers.cells import Cell
from bench.peers.roster import OURS
from bench.peers.summary import contenders_of, limit_ms, limits_of, median_ms
from bench.peers.tables import UNITS
from engine.course.figures import MARKERS, SETTINGS, as_svg

# Okabe and Ito's colours, darker where white paper needs it.
_COLOURS = ("#0072b2", "#d55e00", "#008a64", "#b87d00", "#b85c92", "#2b8fc9", "#968c00", "#4d5560")


def svg_of(run: dict[str, Any], table: dict[str, Any]) -> bytes:
    """Return one table of a run as SVG; the same run always has the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    unit, scale = UNITS[run["device_kind"]]
    entries = [run["cells"][key] for key in table["cells"]]
    sides = [Cell.from_json(entry["cell"]).mask_side for entry in entries]
    limits = limits_of(run)
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(8.5, 5), layout="constrained")
        axes = figure.add_subplot()
        for index, name in enumerate(contenders_of(entries)):
            is_ours = name.startswith(f"{OURS} ")
            points = [
                (side, t) for side, entry in zip(sides, entries, strict=True) if (t := median_ms(entry, name))
            ]
            if points:
                x, y = zip(*((side, t * scale) for side, t in points), strict=True)
                axes.plot(
                    x,
                    y,
                    color=_COLOURS[index % len(_COLOURS)],
                    marker=MARKERS[index % len(MARKERS)],
                    markersize=5,
                    linewidth=2.2 if is_ours else 1.3,
                    label=name,
                )
        bound = [(s, t * scale) for s, e in zip(sides, entries, strict=True) if (t := limit_ms(e, limits))]
        if bound:
            x, y = zip(*bound, strict=True)
            axes.plot(x, y, color="#20252c", linestyle="--", linewidth=1.3, label="limit")
        axes.set_title(f"{table['title']}, {run['machine']['device']}", fontsize=10)
        axes.set_xlabel("side of the mask")
        axes.set_ylabel(f"{unit} a picture")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(sides, [str(side) for side in sides])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(visible=True, color="#d9dde3", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return as_svg(figure, table["title"])
