"""The tooltip of a run: which it was, its proof, every metric that it has, the machine."""

from html import escape
from typing import Any

from engine.device_info import RECORDED
from engine.results.columns import device_text, problem_text
from engine.results.compare import Compared
from engine.results.measurement import Measurement
from engine.results.metrics import AnyMetric, metrics_of


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
