"""One metric of the runs of the newest problem: a row per variant, block and layout."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtGui import QPainterPath

from engine.device_info import RECORDED
from engine.results.columns import SPEED_UP, device_text, layout_suffix, problem_text
from engine.results.compare import Compared, comparable
from engine.results.metrics import AnyMetric, metric
from engine.results.quantities import rate_text, tick_text
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.results import RunResult
from gui.explore.axis_button import axis_button
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.row_plot import MANY_ROWS, RowPlot
from gui.style.series import series_for
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.runs_model import RECORDED_MARK, baseline_name
from gui.widgets.turns import TURNS_FROM, Turns

_OLDER_OPACITY = 0.35
MARK_SIZE = 11
# A star and two crossed bars look smaller than they measure.
MARK_SIZES = {"star": 16, "x": 13, "+": 13, "d": 13}
_MEDIAN = "_median_ms"


class MetricPlot(RowPlot):
    """The runs of one problem: the newest of each row with its number, earlier ones paler.

    It is the problem that is set now; where that has no runs, the newest one's, dimmed.
    `key` is the metric that is plotted at first; `name` is for screen readers; `empty` says how to fill it.
    Only the rows in view are drawn. Where there are several, it has its turn among all that follow
    the results.
    """

    def __init__(
        self, results: ResultsModel, key: str, name: str, empty: str, turns: Turns | None = None
    ) -> None:
        self._shown = metric(key, Problem)
        super().__init__(self._tick_text, axis_button(f"{name}: what is plotted", self._shown, self.choose))
        self._results = results
        self._empty = empty
        self._turns = turns
        # p20, p80 and minimum of a duration.
        self._spread: tuple[AnyMetric, ...] = ()
        self._rows: dict[str, int] = {}
        self._row_names: dict[int, str] = {}
        self._drawn_rows = range(0)
        self.setAccessibleName(name)
        # Once per turn of the event loop, each plot in a turn of its own: 4 to 7 ms each.
        self._redraw_timer = QTimer(self, singleShot=True, interval=0)
        self._redraw_timer.timeout.connect(self.redraw)
        for signal in (
            results.rowsInserted,
            results.modelReset,
            results.dataChanged,
            results.headerDataChanged,
            results.present_changed,
        ):
            signal.connect(self._redraw_soon)
        theme_notifier().changed.connect(self.redraw)
        self.rows.moved.connect(self._draw_those_in_view)
        self.redraw()

    def choose(self, key: str) -> None:
        """Make another metric the axis."""
        self._shown = metric(key, Problem)
        self.redraw()

    def redraw(self) -> None:
        """Draw everything anew: there are few rows, and a change of theme affects all."""
        rows, current = self._results.rows(), self._results.current
        is_earlier = current is not None and self._results.is_earlier(current.result)
        recorded = list(self._results.recorded)
        problem = _but_for_result_type(current.result) if current else None
        made_here = [run for run in rows if _but_for_result_type(run.result) == problem]
        if is_earlier and recorded:
            # They are for the problem that is set now, which nothing has run for yet.
            is_earlier, made_here = False, []
        of_problem = made_here + recorded
        self._row_names = row_names([run.result for run in of_problem])
        self.begin()
        words = self._draw([run for run in of_problem if self._shown.value(run) is not None])
        caption = ""
        if rows:
            against = f" against {self._results.baseline}" if self._is_speed_up else ""
            scale = ", log scale" if words and self.axis.is_log else ""
            note = self._results.recorded_note
            parts = [f"{self._shown.header}{against}{scale}"]
            # What was recorded for another problem says so in the note.
            parts.append(_problem_text(made_here if made_here or note else recorded))
            if recorded:
                gpu = next((run.result for run in recorded if run.result.layout), recorded[0].result)
                parts += [f"hollow: {device_text(gpu)}", note]
            caption = " · ".join(filter(None, parts))
        empty = self._why_empty(made_here or recorded) if rows else self._empty
        self.end(caption, self._omitted(of_problem), empty, words, is_earlier=is_earlier)

    @property
    def _is_speed_up(self) -> bool:
        return self._shown.key == SPEED_UP

    @property
    def _is_time(self) -> bool:
        return self._is_speed_up or self._shown.unit == "ms"

    def _draw(self, runs: Sequence[Compared]) -> list[str]:
        """Draw the runs that have the metric and return the rows in words."""
        if not runs:
            return []
        newest = {self._name(run): run for run in runs}
        names = [name for name in dict.fromkeys(self._row_names.values()) if name in newest]
        self._drawn_rows = self.set_rows(names)
        self._rows = {name: row for row, name in enumerate(names)}
        self._spread = _spread_of(self._shown)
        numbers_of = {id(run): self._values(run) for run in runs}
        self.axis.is_log = self._shown.unit == "ms" or min(map(min, numbers_of.values())) > 0
        if self._is_speed_up:
            line = pg.InfiniteLine(self.at(1.0), angle=90, pen=pg.mkPen(current_theme().muted, width=1))
            self.add(line)
        else:
            # Earlier ratios would only repeat what the times say.
            in_view = {names[row] for row in self._drawn_rows}
            older = [run for run in runs if newest[self._name(run)] is not run and self._name(run) in in_view]
            self._draw_runs(older, _OLDER_OPACITY)
        latest = [newest[names[row]] for row in self._drawn_rows]
        self._draw_runs(latest, 1.0)
        extent: dict[str, list[float]] = {name: [1.0] if self._is_speed_up else [] for name in names}
        for run in runs:
            extent[self._name(run)] += numbers_of[id(run)]
        numbers = [self._shown.words(run) for run in latest]
        for row, number in zip(self._drawn_rows, numbers, strict=True):
            self.add_number(number, self.at(max(extent[names[row]])), row)
        low, high = min(map(min, extent.values())), max(map(max, extent.values()))
        self.set_values(self.at(low), self.at(high), numbers)
        words = [self._words(run) for run in latest]
        return words if len(words) == len(names) else [*words, f"{len(names)} rows in all"]

    def _draw_those_in_view(self) -> None:
        if len(self._rows) > MANY_ROWS and self.rows.in_view[: 2 * MANY_ROWS] != self._drawn_rows:
            self._redraw_soon()

    def _redraw_soon(self) -> None:
        if self._turns is None or len(self._rows) < TURNS_FROM:
            self._redraw_timer.start()
        else:
            self._turns.ask(self.redraw)

    def _draw_runs(self, runs: Sequence[Compared], opacity: float) -> None:
        if not runs:
            return
        items = self._stems(runs) if self._is_speed_up else self._spreads(runs)
        for item in (*items, self._marks(runs)):
            self.add(item)
            item.setOpacity(opacity)

    def _stems(self, runs: Sequence[Compared]) -> list[pg.GraphicsObject]:
        """Return a stem from 1× to each speed-up."""
        stems: list[pg.GraphicsObject] = []
        for variant, own in _by_variant(runs).items():
            ends = [x for run in own for x in (self.at(1.0), self._x(run))]
            heights = [y for run in own for y in (self._y(run),) * 2]
            pen = pg.mkPen(series_for(variant).colour, width=4)
            stems.append(pg.PlotCurveItem(ends, heights, pen=pen, connect="pairs"))
        return stems

    def _spreads(self, runs: Sequence[Compared]) -> list[pg.GraphicsObject]:
        """Return a bar from p20 to p80 and a tick at the minimum for each run."""
        if not self._spread:
            return []
        low, high, minimum = self._spread
        bars: list[pg.GraphicsObject] = []
        pens: dict[str, pg.QtGui.QPen] = {}
        # A curve has one pen, so the runs of a variant share one.
        for variant, own in _by_variant(runs).items():
            colour = series_for(variant).colour
            pens[variant] = pg.mkPen(colour, width=1.5)
            ends = [self.at(end.value(run) or 0.0) for run in own for end in (low, high)]
            heights = [y for run in own for y in (self._y(run),) * 2]
            pen = pg.mkPen(colour, width=5, capStyle=Qt.PenCapStyle.FlatCap)
            bars.append(pg.PlotCurveItem(ends, heights, pen=pen, connect="pairs"))
        # A scatter item, because its height is in pixels whatever the number of rows.
        ticks = pg.ScatterPlotItem(
            [self.at(minimum.value(run) or 0.0) for run in runs],
            [self._y(run) for run in runs],
            symbol=_upright(),
            size=14,
            pen=[pens[run.result.variant] for run in runs],
        )
        return [*bars, ticks]

    def _marks(self, runs: Sequence[Compared]) -> pg.ScatterPlotItem:
        """Return a mark for each run in its variant's colour and shape; under the mouse it describes the run.

        One item for all, because an item costs about 0.5 ms each time that the plot is drawn anew.
        """
        series, base = [series_for(run.result.variant) for run in runs], current_theme().base
        # Those of another machine are hollow. Marks with the same brush are rendered once.
        hollow = [run.result.device == RECORDED for run in runs]
        brushes = {colour: pg.mkBrush(colour) for colour in (base, *(one.colour for one in series))}
        pens = {colour: pg.mkPen(colour, width=1 if colour == base else 2) for colour in brushes}
        return pg.ScatterPlotItem(
            [self._x(run) for run in runs],
            [self._y(run) for run in runs],
            symbol=[one.symbol for one in series],
            size=[MARK_SIZES.get(one.symbol, MARK_SIZE) for one in series],
            brush=[
                brushes[base if is_hollow else one.colour]
                for is_hollow, one in zip(hollow, series, strict=True)
            ],
            pen=[
                pens[one.colour if is_hollow else base] for is_hollow, one in zip(hollow, series, strict=True)
            ],
            data=list(runs),
            hoverable=True,
            tip=lambda x, y, data: self._words(data),
        )

    def _values(self, run: Compared) -> list[float]:
        found = (entry.value(run) for entry in (self._shown, *self._spread))
        return [float(value) for value in found if value is not None]

    def _name(self, run: Compared) -> str:
        return self._row_names[id(run.result)]

    def _x(self, run: Compared) -> float:
        return self.at(self._shown.value(run) or 0.0)

    def _y(self, run: Compared) -> float:
        return -float(self._rows[self._name(run)])

    def _words(self, run: Compared) -> str:
        if self._is_speed_up:
            details = f"against {baseline_name(run)}"
        else:
            details = ", ".join(f"{self._short(entry)} {entry.words(run)}" for entry in self._spread)
        return f"{self._name(run)}: {self._shown.words(run)}{f' ({details})' if details else ''}"

    def _short(self, entry: AnyMetric) -> str:
        return entry.title.removeprefix(self._shown.title).strip()

    def _tick_text(self, value: float) -> str:
        if self._shown.unit == "ms":
            return tick_text(value)
        if self._is_speed_up:
            return f"{value:,.15g}×"
        # Errors are tiny, and rates are not.
        return rate_text(value) if value == 0 or abs(value) >= 1e-3 else f"{value:.0e}"

    def _why_empty(self, runs: Sequence[Compared]) -> str:
        problem = _problem_text(runs)
        if all(run.result.no_speed == "simulated" for run in runs) and self._is_time:
            return f"Simulated runs are not timed.\nChoose a count under Axis to compare them: {problem}."
        if self._is_speed_up:
            return f"No {self._results.baseline} time for {problem}. Run it or choose another baseline."
        if self._shown.key.endswith(_MEDIAN):
            return f"No run was timed for {problem}."
        return f"{self._shown.title}: not known of any run for {problem}."

    def _omitted(self, of_problem: Sequence[Compared]) -> str:
        """Name the results without a speed, variants with the same reason together."""
        variants: dict[str, dict[str, None]] = {}
        for run in of_problem:
            word = run.result.no_speed
            if word in ("failed", "unavailable", "not verified"):
                word = f"{word} ({run.result.status})"
            if word:
                variants.setdefault(word, {})[self._name(run)] = None
        parts = [f"{', '.join(names)}: {word}" for word, names in variants.items()]
        return f"Not plotted: {'; '.join(parts)}" if parts else ""


def row_names(results: Sequence[RunResult]) -> dict[int, str]:
    """Return the name of the row of each result, by its identity.

    Rows of a variant stand together, in the order of its first run. A block is named where a variant ran with
    several, the type of the results where there are several.
    """
    blocks: dict[str, dict[object, None]] = {}
    for result in results:
        blocks.setdefault(result.variant, {})[result.block] = None
    order = {variant: index for index, variant in enumerate(blocks)}
    has_types = len({result.problem.result_dtype for result in results}) > 1
    names = {}
    for result in sorted(results, key=lambda one: order[one.variant]):
        block = f" {result.block}" if result.block and len(blocks[result.variant]) > 1 else ""
        type_name = f" → {result.problem.result_dtype}" if has_types else ""
        recorded = RECORDED_MARK if result.device == RECORDED else ""
        names[id(result)] = f"{result.variant}{block}{layout_suffix(result)}{type_name}{recorded}"
    return names


def _but_for_result_type(result: RunResult) -> Hashable:
    """Return what the runs of a plot share: results of another type are rows of their own beside them."""
    problem = result.problem
    if isinstance(problem, Problem) and problem.is_quantised:
        result = replace(result, problem=replace(problem, result_dtype="float32"))
    return comparable(result)


def _problem_text(runs: Sequence[Compared]) -> str:
    """Return the problem of some runs in words; the type of the results only where all have the same.

    Empty without runs.
    """
    if not runs:
        return ""
    newest = runs[-1].result
    if len({run.result.problem.result_dtype for run in runs}) > 1:
        newest = replace(newest, problem=replace(newest.problem, result_dtype="float32"))
    return problem_text(newest)


def _by_variant(runs: Sequence[Compared]) -> dict[str, list[Compared]]:
    """Return the runs of each variant."""
    found: dict[str, list[Compared]] = {}
    for run in runs:
        found.setdefault(run.result.variant, []).append(run)
    return found


def _spread_of(shown: AnyMetric) -> tuple[AnyMetric, ...]:
    """Return the metrics of p20, p80 and minimum of a duration; none for another metric."""
    if not shown.key.endswith(_MEDIAN):
        return ()
    stem = shown.key.removesuffix(_MEDIAN)
    return tuple(metric(f"{stem}_{statistic}_ms") for statistic in ("p20", "p80", "minimum"))


def _upright() -> QPainterPath:
    path = QPainterPath(QPointF(0.0, -0.5))
    path.lineTo(0.0, 0.5)
    return path
