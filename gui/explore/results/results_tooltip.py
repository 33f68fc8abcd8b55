"""The tooltip of a result: every duration under its own name, the proof, the machine."""

from html import escape

from engine.results.measurement import RunResult, Spread, Timing
from gui.explore.results.comparison import kernel_speed_ms, no_speed_sentence, problem_key
from gui.explore.results.work_text import work_table
from engine.results.quantities import ms_text


def result_tooltip(result: RunResult) -> str:
    """Return the whole breakdown of a result as rich text."""
    lines = [run_heading(result)]
    if result.chosen_because:
        lines.append(f"Chosen by auto: {escape(result.chosen_because)}")
    lines.append(escape(result.status))
    if kernel_speed_ms(result) is not None and result.timing is not None:
        lines.append(_durations(result.timing))
    elif (sentence := no_speed_sentence(result)) != result.status:
        lines.append(escape(sentence))
    if model := work_table(result):
        lines.append(model)
    lines.append(escape(_machine(result)))
    return "<br>".join(lines)


def run_heading(result: RunResult) -> str:
    """Return which run it was, and of what, as two lines of rich text."""
    block = f" · block {result.block}" if result.block else ""
    rows = f" · rows {result.layout}" if result.layout else ""
    who = f"<b>{escape(result.variant)}</b> · {escape(result.title)}{block}{rows}"
    return f"{who}<br>{escape(problem_key(result.problem).text)}"


def _durations(timing: Timing) -> str:
    rows = [
        ("compile (once)", ms_text(timing.compile_ms)),
        ("allocate (once)", ms_text(timing.allocate_ms)),
        ("host to device", _spread(timing.host_to_device)),
        (f"kernel ({timing.clock})", _spread(timing.kernel)),
        ("device to host", _spread(timing.device_to_host)),
        ("end to end", _spread(timing.end_to_end)),
    ]
    cells = "".join(
        f"<tr><td>{escape(name)}&nbsp;&nbsp;</td><td align='right'>{text}</td></tr>" for name, text in rows
    )
    count = len(timing.kernel.samples_ms)
    return (
        f"<table>{cells}</table>{count} samples, cache {escape(timing.cache)}; median (p20 to p80; minimum)"
    )


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "none: the CPU works in place"
    return (
        f"{ms_text(spread.median_ms)} ({ms_text(spread.p20_ms)} to {ms_text(spread.p80_ms)}; "
        f"{ms_text(spread.minimum_ms)})"
    )


def _machine(result: RunResult) -> str:
    environment = result.environment
    parts = [environment.device, environment.driver and f"driver {environment.driver}", environment.clocks]
    parts += [f"{name} {version}" for name, version in environment.versions.items()]
    parts.append(environment.commit and f"commit {environment.commit}")
    return ", ".join(part for part in parts if part)
