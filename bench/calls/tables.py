"""The tables of whole calls in docs/performance.md."""

from typing import Any

from bench.markers import PERFORMANCE, DocumentTable

TITLES = {
    "ours": "Haloscope", "our plan": "a plan of Haloscope", "ours, torch": "Haloscope, torch tensors",
    "auto": "Haloscope, `auto`", "our cpu": "Haloscope on the CPU", "opencv": "OpenCV", "cupy": "CuPy",
    "torch": "torch", "npp": "NPP", "copy": "a copy of the picture",
}  # fmt: skip
ROWS = ((64, 5), (512, 3), (1024, 9), (2048, 5), (4096, 5), (4096, 15))


def tables(run: dict[str, Any]) -> list[DocumentTable]:
    """Return the table of one kind of calls: "cpu", "gpu" or "arrays"."""
    kind, cells = run["kind"], run["cells"]
    shown = [name for name in TITLES if any(name in cell["us"] for cell in cells)]
    lines = [
        f"{run['machine']}, {run['date']}; medians of calls in microseconds, each with a new result. "
        f"{run['verdict']}",
        "",
        f"| picture and mask | {' | '.join(TITLES[name] for name in shown)} |",
        f"|---|{'---:|' * len(shown)}",
    ]
    for side, mask in ROWS:
        for cell in cells:
            if (cell["side"], cell["mask"]) == (side, mask):
                times = " | ".join(_time(cell["us"].get(name)) for name in shown)
                lines.append(f"| {title_of(cell)} | {times} |")
    return [DocumentTable(PERFORMANCE, f"calls:{kind}", lines)]


def title_of(cell: dict[str, Any]) -> str:
    """Return a cell in words."""
    samples = {"uint8": "8-bit", "float32": "float32"}[cell["dtype"]]
    colours = "RGB" if cell["channels"] == 3 else "grey"
    return f"{cell['side']} × {cell['side']} {samples} {colours}, {cell['mask']} × {cell['mask']}"


def _time(us: float | None) -> str:
    if us is None:
        return ""
    return f"{us:,.0f}" if us >= 100 else f"{us:.1f}"
