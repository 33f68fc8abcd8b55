"""A model of work in words: one line for a panel, a table for a tooltip. It is called a model wherever it is shown."""

from html import escape

from engine.results.measurement import RunResult
from engine.tasks.work import Work
from gui.widgets.quantities import digits_text

WHAT_IT_IS = "Model of the work: counted from the kernel's source, by single elements and before any cache"


def work_sentence(result: RunResult) -> str:
    """Return the model of a run in one line; empty where the run has none."""
    work = result.work
    if work is None:
        return ""
    loads = [
        (work.picture_loads, "image loads"),
        (work.global_loads - work.picture_loads, f"{_others(result, work)} loads"),
        (work.shared_loads, "shared loads"),
        (work.constant_loads, "constant loads"),
    ]
    parts = ", ".join(f"{_each(result, count)} {name}" for count, name in loads if count)
    return f"CGMA: {_digits(work.cgma)} operations per global load. Per output value: {parts}"


def work_table(result: RunResult) -> str:
    """Return the model of a run as a table in rich text; empty where the run has none."""
    work = result.work
    if work is None:
        return ""
    cells = "".join(
        f"<tr><td>{escape(name)}&nbsp;&nbsp;</td><td align='right'>{text}</td></tr>"
        for name, text in _rows(result, work)
    )
    unit = "loads and stores per output value (one channel of one pixel)"
    return f"{escape(WHAT_IT_IS)}; {unit}<table>{cells}</table>"


def _rows(result: RunResult, work: Work) -> list[tuple[str, str]]:
    rows = [
        ("operations per global load (CGMA)", _digits(work.cgma)),
        ("operations per byte of global memory (arithmetic intensity)", _digits(work.arithmetic_intensity)),
        ("floating-point operations", _each(result, work.flops)),
    ]
    counts = (
        ("global loads", work.global_loads),
        ("of these, image loads", work.picture_loads),
        (f"of these, {_others(result, work)} loads", work.global_loads - work.picture_loads),
        ("global stores", work.global_stores),
        ("shared loads", work.shared_loads),
        ("shared stores", work.shared_stores),
        ("constant loads", work.constant_loads),
    )
    return rows + [(name, _each(result, count)) for name, count in counts]


def _others(result: RunResult, work: Work) -> str:
    """Return what global loads read beside the image: the mask, or results of a first pass."""
    return "intermediate" if work.global_stores > result.problem.samples else "mask"


def _each(result: RunResult, count: int) -> str:
    """Return a count for each result value."""
    return _digits(count / result.problem.samples)


def _digits(value: float) -> str:
    return digits_text(value, 3)
