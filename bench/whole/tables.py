"""What a run of whole processes says: ratios, what is wanted, and the table of the documents."""

import statistics
from typing import Any

from bench.document import PERFORMANCE, DocumentTable
from bench.whole.rows import NUMPY, OPENCV, OURS, TITLES

Ratios = dict[str, dict[str, float]]
# A batch's memory may differ by so much between few pictures and many: what threads happen to hold.
SAME_MEMORY = 1.1


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


def verdicts(row: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return what is wanted of a row, in words, each with whether it is so."""
    wanted, ours, peak = row["wanted"], median_s(row, OURS), peak_bytes(row, OURS)
    said = []
    peer = median_s(row, OPENCV)
    if wanted["ratio"] is not None and ours and peer:
        limit, ratio = wanted["ratio"], ours / peer
        word, is_met = ("below", ratio < limit) if wanted["is_faster"] else ("at most", ratio <= limit)
        said.append((f"{ratio:.2f} times OpenCV, {word} {limit:g}", is_met))
    if wanted["seconds"] is not None and ours:
        said.append((f"{ours:.2f} s, at most {wanted['seconds']:g}", ours <= wanted["seconds"]))
    if wanted["peak_bytes"] is not None and peak:
        limit = wanted["peak_bytes"]
        said.append((f"{peak / 1e6:.0f} MB, at most {limit / 1e6:.0f}", peak <= limit))
    return said


def same_memory(run: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return whether a batch of many pictures takes the memory of one of few, in words.

    Few are enough only where all cores have a picture.
    """
    batches = [row for row in run["rows"] if row["pictures"] >= run["machine"]["threads"]]
    peaks = {row["pictures"]: peak_bytes(row, OURS) for row in batches if row["pictures"]}
    few, many = (peaks[count] for count in (min(peaks), max(peaks))) if len(peaks) > 1 else (None, None)
    if not few or not many:
        return []
    said = f"{many / few:.2f} times the memory of {min(peaks)} pictures with {max(peaks)}"
    return [(f"{said}, at most {SAME_MEMORY:g}", many <= SAME_MEMORY * few)]


def lines_of(run: dict[str, Any]) -> list[str]:
    """Return the table as Markdown."""
    present = [key for key in TITLES if any(key in row["contenders"] for row in run["rows"])]
    shown = [key for key in present if key != NUMPY]
    lines = [
        f"{run['machine']['device']}, device {run['device']}; medians of whole processes, start to exit, "
        "with their peak memory; the mask is a Gaussian of 9 x 9.",
        "",
        "| what a person does | " + " | ".join(TITLES[key] for key in shown) + " | wanted | |",
        "|---|" + "---:|" * len(shown) + "---|---|",
    ]
    for row in run["rows"]:
        found = verdicts(row)
        cells = [_cell(row, key) for key in shown]
        wanted = "; ".join(text for text, _ in found)
        met = "" if not found else _met(all(is_met for _, is_met in found))
        lines.append(f"| {row['title']} | {' | '.join(cells)} | {wanted} | {met} |")
    for text, is_met in same_memory(run):
        lines.append(f"| memory of a batch | {' | ' * (len(shown) - 1)} | {text} | {_met(is_met)} |")
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
    return [DocumentTable(PERFORMANCE, name, lines_of(run))]


def _met(is_met: bool) -> str:
    return "met" if is_met else "**not met**"


def _cell(row: dict[str, Any], contender: str) -> str:
    elapsed_s, peak = median_s(row, contender), peak_bytes(row, contender)
    parts = [] if elapsed_s is None else [f"{elapsed_s:.2f} s"]
    return ", ".join(parts if peak is None else [*parts, f"{peak / 1e6:.0f} MB"])
