"""The tables and figures of whole calls in the documents."""

import math
from typing import Any

from bench.markers import PERFORMANCE, TABLES, DocumentTable
from bench.peers.plot import BESIDE, COLOURS, drawn
from engine.course.files import MARKERS, as_svg

TITLES = {
    "ours": "Haloscope", "our plan": "Haloscope, a plan", "ours, torch": "Haloscope, torch tensors",
    "auto": "Haloscope, `auto`", "our cpu": "Haloscope on the CPU", "opencv": "OpenCV", "cupy": "CuPy",
    "torch": "torch", "npp": "NPP", "copy": "a copy of the picture",
}  # fmt: skip
KINDS = {"uint8": 3, "float32": 1}
ROWS = ((64, 5), (512, 3), (1024, 9), (2048, 5), (4096, 5), (4096, 15))


def tables(run: dict[str, Any]) -> list[DocumentTable]:
    """Return the table of one kind of calls: "cpu", "gpu" or "arrays"."""
    kind, cells = run["kind"], run["cells"]
    shown = [name for name in TITLES if any(name in cell["us"] for cell in cells)]
    ours = "our plan" if kind == "arrays" else "ours"
    others = [name for name in shown if name in ("opencv", "cupy", "torch", "npp")]
    faster = sum(cell["us"][ours] < min(cell["us"].get(name, math.inf) for name in others) for cell in cells)
    lines = [
        f"{run['machine']}, {run['date']}; medians of calls in microseconds, each with a new result. "
        f"{TITLES[ours]} was the fastest in {faster} of {len(cells)} problems.",
        "",
        f"| picture and mask | {' | '.join(TITLES[name] for name in shown)} |",
        f"|---|{'---:|' * len(shown)}",
    ]
    for side, mask in ROWS:
        for cell in cells:
            # Of the four kinds of samples two, so that the table stays short.
            if (cell["side"], cell["mask"]) == (side, mask) and KINDS[cell["dtype"]] == cell["channels"]:
                times = " | ".join(_time(cell["us"].get(name)) for name in shown)
                lines.append(f"| {title_of(cell)} | {times} |")
    document = TABLES if kind == "gpu" else PERFORMANCE
    return [DocumentTable(document, f"calls:{kind}", lines)]


def svg_of(run: dict[str, Any]) -> bytes:
    """Draw the times of calls with a 5 × 5 mask on float32 pictures, against the side of the picture."""
    cells = [
        cell for cell in run["cells"] if (cell["mask"], cell["dtype"], cell["channels"]) == (5, "float32", 1)
    ]
    title, sides = f"Calls, float32, 5 × 5, {run['machine']}", [cell["side"] for cell in cells]
    with drawn(title) as (drawing, axes):
        for index, name in enumerate(name for name in TITLES if name in cells[0]["us"]):
            look = {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
            label = TITLES[name].replace("`", "")
            axes.plot(sides, [cell["us"][name] for cell in cells], markersize=5, label=label, **look)
        axes.set(xlabel="side of the picture", ylabel="microseconds", xscale="log", yscale="log")
        axes.set_xticks(sides, list(map(str, sides)), minor=False)
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(**BESIDE)
        return as_svg(drawing, title)


def title_of(cell: dict[str, Any]) -> str:
    """Return a cell in words."""
    samples = {"uint8": "8-bit", "float32": "float32"}[cell["dtype"]]
    colours = "RGB" if cell["channels"] == 3 else "grey"
    return f"{cell['side']} × {cell['side']} {samples} {colours}, {cell['mask']} × {cell['mask']}"


def _time(us: float | None) -> str:
    if us is None:
        return ""
    return f"{us:,.0f}" if us >= 100 else f"{us:.1f}"
