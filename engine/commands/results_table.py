"""The table of runs that `bench` and `matmul` print."""

from collections.abc import Sequence

from engine.commands.output import table
from engine.results.columns import Column, columns_of
from engine.results.compare import Compared
from engine.results.quantities import MISSING

# In the order of the loops that measure: what, then how.
_FIRST = ("run", "picture", "mask", "product", "variant", "block", "tile", "layout", "device")
_LAST = ("baseline_run", "proof")


def results_table(runs: Sequence[Compared], baseline: str, without: Sequence[str] = ("border",)) -> str:
    """Return runs as a table, with every reason why there is no proof once under it.

    Parameters
    ----------
    runs : sequence of Compared
        Of one task; at least one.
    baseline : str
        Key of a variant.
    without : sequence of str
        Keys of columns that are left out.
    """
    columns = columns_of(runs[0].result.task)
    chosen = [column for column in columns if column.key not in without and _is_printed(column)]
    chosen.sort(key=lambda column: _order(column.key))
    reasons = list(dict.fromkeys(run.result.status for run in runs if not run.result.is_proven))
    rows = []
    for run in runs:
        note = "" if run.result.is_proven else f" ({reasons.index(run.result.status) + 1})"
        rows.append([_cell(column, run) + (note if column.key == "proof" else "") for column in chosen])
    right = [at for at, column in enumerate(chosen) if column.numeric]
    lines = [table([_header(column, baseline) for column in chosen], rows, right)]
    lines += [f"({number}) {reason}" for number, reason in enumerate(reasons, start=1)]
    return "\n".join(lines)


def _is_printed(column: Column) -> bool:
    return column.shown or column.key in (*_FIRST, *_LAST)


def _order(key: str) -> int:
    if key in _FIRST:
        return _FIRST.index(key) - len(_FIRST)
    return _LAST.index(key) + 1 if key in _LAST else 0


def _cell(column: Column, run: Compared) -> str:
    text = run.result.proof if column.key == "proof" else column.text(run)
    return "-" if text == MISSING else text


def _header(column: Column, baseline: str) -> str:
    if column.key == "speed_up":
        return f"x {baseline}"
    if column.metric is None:
        return column.header.lower().replace(", px", "")
    unit = column.metric.unit
    return column.metric.title if unit in column.metric.title else f"{column.metric.title} {unit}"
