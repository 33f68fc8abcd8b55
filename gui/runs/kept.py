"""A run that a page keeps, the step of undo that takes runs away or brings them, and a run in words."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol, TypeAlias

from PySide6.QtGui import QUndoCommand

from engine.device_info import RECORDED
from engine.results.columns import device_text, problem_text
from engine.results.measurement import Measurement
from engine.results.metrics import AnyMetric, Compared, metrics_of

Run: TypeAlias = Measurement[Any]


@dataclass(slots=True)
class Kept:
    """A run, and what a person has said of it."""

    result: Run
    problem: Hashable
    """What it shares with the runs that it is shown with."""
    note: str = ""
    is_pinned: bool = False


Placed = tuple[int, Kept]
"""A run with its place among all."""


class Keeper(Protocol):
    """What keeps runs in an order."""

    def take_out(self, runs: Iterable[Kept]) -> Sequence[Placed]:
        """Forget runs; return those that were there, each with its place."""

    def put_back(self, runs: Iterable[Placed]) -> None:
        """Have runs again, each in its place."""


class ExchangeRuns(QUndoCommand):
    """Some runs go, and others come, as those of a session; undone, each that went is in its place again."""

    def __init__(self, keeper: Keeper, text: str, gone: Iterable[Kept], come: Iterable[Kept] = ()) -> None:
        super().__init__(text)
        self._keeper = keeper
        self._gone: Sequence[Placed] = tuple(enumerate(gone))
        self._come: Sequence[Placed] = tuple(enumerate(come))

    def redo(self) -> None:
        self._gone = self._keeper.take_out(run for _place, run in self._gone)
        self._keeper.put_back(self._come)

    def undo(self) -> None:
        self._come = self._keeper.take_out(run for _place, run in self._come)
        self._keeper.put_back(self._gone)


def run_tooltip(run: Compared) -> str:
    """Return a run as rich text."""
    result = run.result
    lines = [run_heading(result)]
    if result.chosen_because:
        lines.append(f"Chosen by auto: {escape(result.chosen_because)}")
    lines.append(escape(result.status))
    if (sentence := no_speed_sentence(result)) != result.status and sentence:
        lines.append(escape(sentence))
    lines.append(_numbers(run))
    if result.timing is not None and result.kernel_ms is not None:
        lines.append(f"clock: {escape(result.timing.clock)}, cache {escape(result.timing.cache)}")
    lines.append(escape(_machine(result)))
    return "<br>".join(line for line in lines if line)


def run_heading(result: Measurement[Any]) -> str:
    """Return which run it was, and of what, as two lines of rich text."""
    block = f" · block {result.block}" if result.block else ""
    rows = f" · rows {result.layout}" if result.layout else ""
    who = f"<b>{escape(result.variant)}</b> · {escape(result.title)}{block}{rows}"
    return f"{who}<br>{escape(problem_text(result))}"


def no_speed_sentence(result: Measurement[Any]) -> str:
    """Say in full why a result has no speed; empty if it has one."""
    if result.no_speed == "simulated":
        return "The simulator interprets the kernel to check it; its times mean nothing."
    if result.no_speed == "not timed":
        return "This run was verified but not timed."
    return result.status if result.no_speed else ""


def _numbers(run: Compared) -> str:
    metrics = metrics_of(run.result.problem)
    cells = "".join(
        f"<tr><td>{escape(metric.title)}&nbsp;&nbsp;</td><td align='right'>{escape(metric.words(run))}</td>"
        f"<td>&nbsp;{escape(_details(run, metric, metrics))}</td></tr>"
        for metric in metrics
        if not metric.of and _is_shown(metric, run)
    )
    return f"<table>{cells}</table>" if cells else ""


def number_sentence(run: Compared, metric: AnyMetric) -> str:
    """Return a number of a run, with how it spreads: kernel 0.0400 ms (p20 0.0376, p80 0.0420)."""
    details = _details(run, metric, metrics_of(run.result.problem))
    return f"{metric.title} {metric.words(run)} {details}".rstrip()


def _details(run: Compared, head: AnyMetric, metrics: tuple[AnyMetric, ...]) -> str:
    parts = [
        f"{metric.title.removeprefix(head.title).strip()} {metric.text(run)}"
        for metric in metrics
        if metric.of == head.key and _is_shown(metric, run)
    ]
    return f"({', '.join(parts)})" if parts else ""


def _is_shown(metric: AnyMetric, run: Compared) -> bool:
    """Whether the run has the number; a kind of memory that a kernel does not touch is left out."""
    value = metric.value(run)
    return value is not None and not (metric.key.startswith("model_") and value == 0)


def _machine(result: Measurement[Any]) -> str:
    environment = result.environment
    parts = [device_text(result) if result.device == RECORDED else environment.device]
    parts += [environment.driver and f"driver {environment.driver}", environment.clocks]
    parts += [f"{name} {version}" for name, version in environment.versions.items()]
    parts.append(environment.commit and f"commit {environment.commit}")
    return ", ".join(part for part in parts if part)
