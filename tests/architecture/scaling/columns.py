"""What tables and files tell of a scaling alone."""

from engine.results.columns import Fact
from engine.results.metrics import Metric
from engine.results.text_forms import count_text


def numbers_per_ms(run):
    return run.result.problem.count / run.result.kernel_ms if run.result.kernel_ms else None


_METRICS = (Metric("numbers_per_ms", "numbers per ms", "1/ms", "Its speed.", numbers_per_ms, count_text),)
_FACTS = (
    Fact(
        "factor",
        "Factor",
        "By which.",
        lambda run: f"times {run.result.problem.factor}",
        caption="{}",
        of_problem=True,
    ),
)
METRICS, FACTS = {"scaling": _METRICS}, {"scaling": _FACTS}
