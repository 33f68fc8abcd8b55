"""The answers of docs/performance.md: for each question a sentence, a short table and a figure.

All are made from the files in bench/results. The full tables of the same files are in the appendix
(docs/performance-tables.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.markers import PERFORMANCE, PICTURES, DocumentTable
from bench.peers.plot import BESIDE, COLOURS, drawn, svg_of
from bench.peers.summary import OURS_AUTO, peers_of, ratios
from bench.peers.tables import UNITS, number
from bench.whole.rows import NUMPY, OPENCV, OURS, TITLES
from bench.whole.tables import cell_text, median_s
from engine.course.files import MARKERS, as_svg

# A small, a usual and a large mask of each kind of problem.
MASKS = ("3 × 3", "9 × 9", "15 × 15")
PROBLEMS = {
    "main": "float32, any mask",
    "gaussian": "float32, Gaussian",
    "grey": "8-bit grey, any mask",
    "rgb": "8-bit RGB, any mask",
    "gaussian-grey": "8-bit grey, Gaussian",
    "gaussian-rgb": "8-bit RGB, Gaussian",
}
VARIANTS = ("naive", "tiled", "cached", "separable-l2", "register-blocked", "separable-fused", "fft")
EDIT_AIM_MS = 50


@dataclass(frozen=True)
class DocumentFigure:
    """A figure of a document."""

    name: str
    svg: Callable[[], bytes]  # Draws it; the same results always have the same bytes

    @property
    def path(self) -> Path:
        """Its file."""
        return PICTURES / f"{self.name}.svg"


def library_answer(run: dict[str, Any]) -> DocumentTable:
    """Return how our time compares with the fastest other library's, per kind of problem."""
    unit, scale = UNITS[run["device_kind"]]
    found = [ratios(entry) for entry in run["cells"].values()]
    leads = [min(leads.values()) for leads in found if leads]
    faster = sum(lead > 1 for lead in leads)
    lines = [
        f"Haloscope (`auto`) was faster than every other library in {faster} of {len(leads)} problems, by a "
        f"factor of {min(leads):.1f} to {max(leads):.1f} over the fastest one. "
        f"{run['machine']['device']}, {run['date']}; medians in {unit}: "
        "other library / Haloscope = factor.",
        "",
        f"| picture and mask | {' | '.join(MASKS)} | fastest other library |",
        f"|---|{'---:|' * len(MASKS)}---|",
    ]
    for table in run["tables"]:
        entries = [
            run["cells"][key]
            for key, label in zip(table["cells"], table["labels"], strict=True)
            if label in MASKS
        ]
        if table["name"] not in PROBLEMS or len(entries) < len(MASKS):
            continue
        fastest = [min(peers_of(entry).items(), key=lambda peer: peer[1]) for entry in entries]
        cells = [
            f"{number(ms * scale)} / {number(entry['contenders'][OURS_AUTO]['median_ms'] * scale)} = "
            f"**{ratios(entry)[name]:.1f}**"
            for entry, (name, ms) in zip(entries, fastest, strict=True)
        ]
        names = ", ".join(dict.fromkeys(name for name, _ in fastest))
        size = f"{entries[0]['cell']['width']} × {entries[0]['cell']['height']}"
        lines.append(f"| {PROBLEMS[table['name']]}, {size} | {' | '.join(cells)} | {names} |")
    return DocumentTable(PERFORMANCE, f"libraries:{run['device_kind']}", lines)


def process_answer(run: dict[str, Any]) -> DocumentTable:
    """Return the time from file to file beside other programs, without the rows that only list something."""
    shown = [key for key in TITLES if key != NUMPY and any(key in row["contenders"] for row in run["rows"])]
    lines = [
        f"{run['machine']['device']}, {run['date']}; medians of whole processes from start to exit, with "
        "their peak memory; a Gaussian of 9 × 9.",
        "",
        f"| what a person does | {' | '.join(TITLES[key] for key in shown)} |",
        f"|---|{'---:|' * len(shown)}",
    ]
    lines += [
        f"| {row['title']} | {' | '.join(cell_text(row, key) for key in shown)} |"
        for row in compared_rows(run)
    ]
    return DocumentTable(PERFORMANCE, "processes", lines)


def compared_rows(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows in which another program took part."""
    return [row for row in run["rows"] if median_s(row, OURS) and median_s(row, OPENCV)]


def window_answer(found: dict[str, Any]) -> DocumentTable:
    """Return how soon an edit is on the screen, and how long the window was ever busy."""
    edit, gaps = found["edit_to_pixels_ms"], found["timer_gap_ms"]
    longest = max(gaps, key=lambda phase: gaps[phase]["max"])
    lines = [
        "| what | median | longest |",
        "|---|---:|---:|",
        f"| mask edit to pixels, 1920 × 1080 RGB, 5 × 5 | {edit['median']:.0f} ms | {edit['max']:.0f} ms |",
        f"| the window does not respond: edits of the mask | | {gaps['edits of the mask']['max']:.0f} ms |",
        f"| the window does not respond: {longest} | | {gaps[longest]['max']:.0f} ms |",
    ]
    return DocumentTable(PERFORMANCE, "edits", lines)


def variant_answer(data: dict[str, Any]) -> DocumentTable:
    """Return the kernel times of some CUDA variants with float32."""
    rows = {key: _float32_times(data, key) for key in VARIANTS}
    sides = list(rows[VARIANTS[0]])
    lines = [
        f"{data['device']}, 4096 × 4096 float32, one channel; kernel time in microseconds, medians.",
        "",
        f"| variant | {' | '.join(f'{side} × {side}' for side in sides)} |",
        f"|---|{'---:|' * len(sides)}",
    ]
    for key, times in rows.items():
        lines.append(f"| `{key}` | {' | '.join(f'{times[side]:.0f}' for side in sides)} |")
    return DocumentTable(PERFORMANCE, "variants", lines)


def _float32_times(data: dict[str, Any], key: str) -> dict[int, float]:
    cells = data["variants"][key]["float32, 1 channel"]
    return {int(side): cell["kernel_us"] for side, cell in cells.items()}


def library_figure(run: dict[str, Any], name: str = "main") -> DocumentFigure:
    """Return the plot of one table of a run beside other libraries."""
    (table,) = (table for table in run["tables"] if table["name"] == name)
    return DocumentFigure(f"peers-{run['device_kind']}-{name}", partial(svg_of, run, table))


def process_svg(run: dict[str, Any]) -> bytes:
    """Draw bars of the times from file to file, a group per row."""
    rows = compared_rows(run)
    shown = [key for key in TITLES if key != NUMPY and any(median_s(row, key) for row in rows)]
    title = f"From file to file, {run['machine']['device']}"
    with drawn(title) as (drawing, axes):
        height = 0.8 / len(shown)
        for index, key in enumerate(shown):
            bars = [(y + index * height, t) for y, row in enumerate(rows) if (t := median_s(row, key))]
            axes.barh(*zip(*bars, strict=True), height, color=COLOURS[index], label=TITLES[key])
        axes.set_yticks([y + 0.4 - height / 2 for y in range(len(rows))], [row["title"] for row in rows])
        axes.invert_yaxis()
        axes.set_xlabel("seconds")
        axes.legend(frameon=False)
        return as_svg(drawing, title)


def window_svg(found: dict[str, Any]) -> bytes:
    """Draw the times of all edits, one after the other."""
    title = "From an edit of the mask to new pixels"
    times = found["edit_to_pixels_ms"]["all"]
    with drawn(title) as (drawing, axes):
        axes.plot(range(1, len(times) + 1), times, color=COLOURS[0], marker="o", markersize=4)
        axes.axhline(EDIT_AIM_MS, color="#20252c", linestyle="--", linewidth=1.3, label="the aim")
        axes.set(xlabel="edit", ylabel="milliseconds", ylim=(0, EDIT_AIM_MS * 1.1))
        axes.legend(frameon=False, loc="lower right")
        return as_svg(drawing, title)


def variant_svg(data: dict[str, Any]) -> bytes:
    """Draw the kernel times of the variants in `variant_answer` against the side of the mask."""
    title = f"CUDA variants, 4096 × 4096 float32, {data['device']}"
    with drawn(title) as (drawing, axes):
        for index, key in enumerate(VARIANTS):
            times = _float32_times(data, key)
            look = {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index], "markersize": 5}
            axes.plot(list(times), list(times.values()), label=key, **look)
        axes.set(xlabel="side of the mask", ylabel="microseconds", yscale="log")
        axes.set_xticks(list(times))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(**BESIDE)
        return as_svg(drawing, title)
