"""The rows of the plot: the newest run of each variant, block, layout and type of one problem."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from engine.device_info import RECORDED
from engine.results.columns import SPEED_UP, layout_suffix
from engine.results.compare import Compared, comparable
from engine.results.measurement import Measurement
from engine.results.metrics import AnyMetric, metric
from engine.results.quantities import duration_text
from engine.work.filtering.problem import Problem
from gui.explore.results.results_model import ResultsModel
from gui.widgets.runs_model import RECORDED_MARK

CGMA = "model_cgma_flop_per_load"
_MEDIAN = "_median_ms"


class Order(Enum):
    """How the rows follow one another; the value is what a menu says."""

    BEST = "Best first"
    TEACHING = "Teaching order"


@dataclass(frozen=True, slots=True)
class PlotRow:
    """A row: a run with its number, and earlier runs of the same row."""

    name: str
    run: Compared
    value: float
    # p20, p80 and minimum of a duration; empty for other numbers.
    spread: tuple[float, ...] = ()
    older: tuple[float, ...] = ()

    @property
    def numbers(self) -> tuple[float, ...]:
        """Every number that has a place on the axis."""
        return self.value, *self.spread, *self.older


@dataclass(frozen=True, slots=True)
class PlotRows:
    """What the plot shows: rows of one problem, those left out, and why there are none."""

    shown: AnyMetric
    rows: tuple[PlotRow, ...] = ()
    omitted: str = ""
    # Any run of the problem, for its words; None without runs.
    of: Compared | None = None
    is_earlier: bool = False
    recorded: tuple[Compared, ...] = ()
    are_simulated: bool = False
    """Whether no run has a time because all were simulated: a count is shown instead."""


def plot_rows(
    results: ResultsModel, key: str, order: Order, teaching: Callable[[], Sequence[str]] = tuple
) -> PlotRows:
    """Return the rows for the problem that is set; where it has no runs, those of the newest one's.

    `key` is that of the metric, `teaching` returns the variants in their order.
    """
    runs, current, recorded = results.rows(), results.current, list(results.recorded)
    is_earlier = current is not None and results.is_earlier(current.result)
    problem = _but_for_result_type(current.result) if current else None
    made_here = [run for run in runs if _but_for_result_type(run.result) == problem]
    if is_earlier and recorded:
        # They are for the problem that is set now, which nothing has run for yet.
        is_earlier, made_here = False, []
    of_problem = made_here + recorded
    shown = metric(key, Problem)
    # Not while something is still to be timed.
    are_simulated = bool(of_problem) and all(run.result.no_speed == "simulated" for run in of_problem)
    if are_simulated and is_of_speed(shown):
        shown = metric(CGMA, Problem)
    names = row_names([run.result for run in of_problem], teaching())
    found: dict[str, list[Compared]] = {name: [] for name in dict.fromkeys(names.values())}
    for run in of_problem:
        if shown.value(run) is not None:
            found[names[id(run.result)]].append(run)
    spread = _spread_of(shown)
    rows = [_row(name, shown, spread, own) for name, own in found.items() if own]
    if order is Order.BEST:
        rows.sort(key=lambda row: -row.value if shown.more_is_better else row.value)
    rows.sort(key=lambda row: not results.is_pinned(row.run.result))
    return PlotRows(
        shown,
        tuple(rows),
        _omitted(of_problem, names) if is_of_speed(shown) else "",
        next(iter(of_problem), None),
        is_earlier,
        tuple(recorded),
        are_simulated,
    )


def is_of_speed(shown: AnyMetric) -> bool:
    """Whether a number needs a time."""
    return shown.unit == "ms" or shown.key == SPEED_UP


def number_text(shown: AnyMetric, run: Compared) -> str:
    """Return a number with its unit, a duration in the one that suits it."""
    value = shown.value(run)
    return duration_text(value) if shown.unit == "ms" and value is not None else shown.words(run)


def _row(name: str, shown: AnyMetric, spread: Sequence[AnyMetric], own: Sequence[Compared]) -> PlotRow:
    *before, run = own
    ends = tuple(float(end.value(run) or 0.0) for end in spread)
    # Earlier ratios would only repeat what the times say.
    older = () if shown.key == SPEED_UP else tuple(float(shown.value(one) or 0.0) for one in before)
    return PlotRow(name, run, float(shown.value(run) or 0.0), ends, older)


def row_names(results: Sequence[Measurement[Any]], teaching: Sequence[str] = ()) -> dict[int, str]:
    """Return the name of the row of each result, by its identity.

    Rows of a variant stand together, in the `teaching` order of variants, or else in that of its first run. A
    block is named where a variant ran with several, the type of the results where there are several.
    """
    blocks: dict[str, dict[object, None]] = {}
    for result in results:
        blocks.setdefault(result.variant, {})[result.block] = None
    order = {variant: index for index, variant in enumerate((*teaching, *blocks))}
    order |= {variant: index for index, variant in enumerate(teaching)}
    has_types = len({result.problem.result_dtype for result in results}) > 1
    names = {}
    for result in sorted(results, key=lambda one: order[one.variant]):
        block = f" {result.block}" if result.block and len(blocks[result.variant]) > 1 else ""
        type_name = f" → {result.problem.result_dtype}" if has_types else ""
        recorded = RECORDED_MARK if result.device == RECORDED else ""
        names[id(result)] = f"{result.variant}{block}{layout_suffix(result)}{type_name}{recorded}"
    return names


def _but_for_result_type(result: Measurement[Any]) -> Hashable:
    """Return what the runs of a plot share: results of another type are rows of their own beside them."""
    problem = result.problem
    if isinstance(problem, Problem) and problem.is_quantised:
        result = replace(result, problem=replace(problem, result_dtype="float32"))
    return comparable(result)


def _spread_of(shown: AnyMetric) -> tuple[AnyMetric, ...]:
    """Return p20, p80 and minimum of a duration; nothing for another metric."""
    if not shown.key.endswith(_MEDIAN):
        return ()
    head = shown.key.removesuffix(_MEDIAN)
    return tuple(metric(f"{head}_{end}_ms", Problem) for end in ("p20", "p80", "minimum"))


def _omitted(of_problem: Sequence[Compared], names: dict[int, str]) -> str:
    """Name the results without a speed, variants with the same reason together."""
    variants: dict[str, dict[str, None]] = {}
    for run in of_problem:
        word = run.result.no_speed
        if word in ("failed", "unavailable", "not verified"):
            word = f"{word} ({run.result.status})"
        if word:
            variants.setdefault(word, {})[names[id(run.result)]] = None
    parts = [f"{', '.join(found)}: {word}" for word, found in variants.items()]
    return f"Not plotted: {'; '.join(parts)}" if parts else ""
