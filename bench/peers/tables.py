"""A run as Markdown: a table per axis, in us on a GPU, in ms on a CPU, or why there is no time."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from bench.peers.summary import (
    LIMIT,
    OURS,
    OURS_AUTO,
    behind_best,
    contenders_of,
    limit_ms,
    limits_of,
    peers_of,
    ratios,
)

# A spread smaller than this is not written beside the median.
QUIET = 0.03
UNITS = {"gpu": ("microseconds", 1e3), "cpu": ("milliseconds", 1.0)}


def document_lines(run: dict[str, Any], picture: str) -> list[str]:
    """Return the Markdown of a run.

    `run`: as `bench.peers` keeps it. `picture`: where the plot is, seen from the document.
    """
    lines = [*_about(run), "", f"![Time against the size of Gaussian masks]({picture})", ""]
    for table in run["tables"]:
        lines += [*table_lines(run, table), ""]
    return [*lines, "**Why a cell has no time**", "", *untimed_lines(list(run["cells"].values()))]


def table_lines(run: dict[str, Any], table: dict[str, Any]) -> list[str]:
    """Return the Markdown of one table: a row per cell, ours first, then the limit, then the peers."""
    _, scale = UNITS[run["device_kind"]]
    entries = [run["cells"][key] for key in table["cells"]]
    limits = limits_of(run)
    names = contenders_of(entries)
    ours, peers = _split(names)
    heads = [table["axis_title"], *map(_short, ours), "limit", "reached"]
    heads += [*map(_short, peers), "lead"]
    lines = [f"**{table['title']}**", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for label, entry in zip(table["labels"], entries, strict=True):
        limit = limit_ms(entry, limits)
        times = [one["median_ms"] for one in map(entry["contenders"].get, ours) if one and "median_ms" in one]
        cells = [_time(entry, name, scale) for name in ours]
        cells += ["" if limit is None else number(limit * scale), _share(limit, times)]
        cells += [_time(entry, name, scale) for name in peers]
        lines.append(f"| {' | '.join([label, *cells, _lead(entry)])} |")
    return lines


def _share(limit: float | None, times: list[float]) -> str:
    return f"{limit / min(times):.0%}" if limit is not None and times else ""


def _split(names: Iterable[str]) -> tuple[list[str], list[str]]:
    names = list(names)
    ours = [name for name in names if name.startswith(f"{OURS} ")]
    return ours, [name for name in names if name not in ours]


def _short(name: str) -> str:
    return f"**{name.removeprefix(f'{OURS} ')}**" if name.startswith(f"{OURS} ") else name


def _lead(entry: dict[str, Any]) -> str:
    found = ratios(entry)
    return f"{min(found.values()):.1f}" if found else ""


def _time(entry: dict[str, Any], name: str, scale: float) -> str:
    one = entry["contenders"].get(name)
    if one is None:
        return ""
    if "median_ms" not in one:
        return "-"
    median, low, high = (one[f"{which}_ms"] for which in ("median", "p20", "p80"))
    text = number(median * scale)
    if high - low > QUIET * median:
        text += f" ({number(low * scale)} to {number(high * scale)})"
    return text


def number(value: float) -> str:
    """Return a number with three digits that count, and no more decimals than two."""
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}"


def untimed_lines(entries: list[dict[str, Any]]) -> list[str]:
    """Return why contenders have no time: a line per contender and kind of reason, with an example."""
    # Reasons of a kind may differ in their numbers: the first one is the example.
    found: dict[tuple[str, str], list[str]] = {}
    for name in contenders_of(entries):
        for one in (entry["contenders"].get(name) for entry in entries):
            if one and one["reason"]:
                found.setdefault((name, one["reason"].split(":")[0]), []).append(one["reason"])
    return [
        f"- `{name}`, {len(texts)} {'cell' if len(texts) == 1 else 'cells'}: {texts[0]}"
        for (name, _), texts in found.items()
    ]


def _chosen(entries: Iterable[dict[str, Any]]) -> list[str]:
    """Return what `auto` chose, as a line."""
    autos = [one for entry in entries if (one := entry["contenders"].get(OURS_AUTO)) and "median_ms" in one]
    counts = Counter(one["note"].split(" ")[0] for one in autos)
    said = ", ".join(f"`{key}` in {count}" for key, count in counts.items())
    return [f"- `auto` chose {said} cells."] if said else []


def _about(run: dict[str, Any]) -> list[str]:
    unit, _ = UNITS[run["device_kind"]]
    machine = run["machine"]
    quick = ", --quick" if run["grid"] == "quick" else ""
    on_cpu = f"{machine['threads']} threads for every library that has threads."
    lines = [
        f"Measured {run['date']} on {machine['device']}, commit {run['commit'] or 'unknown'}{quick}: {unit}, "
        f"medians; p20 to p80 in parentheses where they are more than {QUIET:.0%} apart. "
        f"{'Device events around many runs in one graph.' if run['device_kind'] == 'gpu' else on_cpu}",
        "",
        "- Every time belongs to a result that was compared with the float64 oracle: float32 within the "
        "rounding bound, 8 bit within one step (ours: equal, rounded half to even, or within half a step and "
        "that bound where weights round). Pillow leaves the border unfiltered, so it is compared without the "
        "border. `npp border` replicates the border, and is compared with that.",
        "- `reached` is the share of the limit that our fastest variant reaches; `lead` is how many times "
        "faster `auto` is than the fastest peer.",
    ]
    lines += [f"- {text}" for text in machine["facts"]]
    for key, about in run["libraries"].items():
        versions = ", ".join(f"{name} {value}" for name, value in about["versions"].items())
        threads = f"; threads: {about['threads']}" if about["threads"] else ""
        lines.append(f"- {about['title'] if key != LIMIT else 'limits'}: {versions}{threads}")
    lines += [f"- {title}: not measured: {why}" for title, why in run["absent"].items()]
    lines += _chosen(run["cells"].values())
    worst = [found for entry in run["cells"].values() if (found := behind_best(entry)) is not None]
    if worst:
        lines.append(f"- `auto` takes at most {max(worst):.2f} times the time of our fastest variant.")
    behind = [
        f"{key} ({name} is {1 / ratio:.2f} times faster)"
        for key, entry in run["cells"].items()
        for name, ratio in ratios(entry).items()
        if ratio < 1
    ]
    with_peers = sum(
        1 for entry in run["cells"].values() if peers_of(entry) and entry["contenders"].get(OURS_AUTO)
    )
    lines.append(
        f"- `auto` is ahead of every peer in {with_peers - len({text.split(' (')[0] for text in behind})} of "
        f"{with_peers} cells" + (f"; behind: {'; '.join(behind)}." if behind else ".")
    )
    return lines
