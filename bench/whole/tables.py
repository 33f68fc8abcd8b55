"""What a run of whole processes says: ratios, and the table of the documents."""

import statistics
from typing import Any

from bench.markers import TABLES, DocumentTable
from bench.whole.rows import NUMPY, OPENCV, OURS, TITLES

Ratios = dict[str, dict[str, float]]


def median_s(row: dict[str, Any], contender: str) -> float | None:
    """Return the median of the times of a contender in a row; None where it has none."""
    found = row["contenders"].get(contender, {}).get("elapsed_s")
    return statistics.median(found) if found else None


def peak_bytes(row: dict[str, Any], contender: str) -> int | None:
    """Return the most memory that a contender took in a row; None where it is not known."""
    found = [peak for peak in row["contenders"].get(contender, {}).get("peak_bytes", ()) if peak]
    return max(found) if found else None


def ratios_of(run: dict[str, Any]) -> Ratios:
    """Return how many times as long as ours each peer took, by rows; as `bench.peers` has its ratios."""
    found: Ratios = {}
    for row in run["rows"]:
        ours = median_s(row, OURS)
        for key in row["contenders"]:
            peer = median_s(row, key)
            if key != OURS and ours and peer:
                found.setdefault(row["key"], {})[key] = round(peer / ours, 4)
    return found


def lines_of(run: dict[str, Any]) -> list[str]:
    """Return the table as Markdown."""
    present = [key for key in TITLES if any(key in row["contenders"] for row in run["rows"])]
    shown = [key for key in present if key != NUMPY]
    lines = [
        f"{run['machine']['device']}, device {run['device']}; medians of whole processes, start to exit, "
        "with their peak memory; the mask is a Gaussian of 9 × 9.",
        "",
        "| what a person does | " + " | ".join(TITLES[key] for key in shown) + " | ours / OpenCV |",
        "|---|" + "---:|" * (len(shown) + 1),
    ]
    for row in run["rows"]:
        ours, peer = median_s(row, OURS), median_s(row, OPENCV)
        ratio = f"{ours / peer:.2f}" if ours and peer else ""
        lines.append(f"| {row['title']} | {' | '.join(cell_text(row, key) for key in shown)} | {ratio} |")
    floors = [floor for row in run["rows"] if (floor := median_s(row, NUMPY))]
    if floors:
        lines += ["", f"{TITLES[NUMPY]} and does nothing took {min(floors):.2f} s."]
    if run["absent"]:
        named = "; ".join(f"{TITLES[key]} ({why})" for key, why in run["absent"].items())
        lines += ["", f"Not measured: {named}."]
    return lines


def tables(run: dict[str, Any]) -> list[DocumentTable]:
    """Return the table of the documents, of a machine with a GPU or of one without."""
    name = "whole-gpu" if run["machine"]["state"] else "whole"
    return [DocumentTable(TABLES, name, lines_of(run))]


def cell_text(row: dict[str, Any], contender: str) -> str:
    """Return the median and the peak memory of a contender in a row; empty where it did not take part."""
    elapsed_s, peak = median_s(row, contender), peak_bytes(row, contender)
    parts = [] if elapsed_s is None else [f"{elapsed_s:.2f} s"]
    return ", ".join(parts if peak is None else [*parts, f"{peak / 1e6:.0f} MB"])
