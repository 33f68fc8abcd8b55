"""What tables and files tell of a run of a network, beside what they tell of every run."""

from engine.results.columns import Fact
from engine.results.metrics import ComparedRun, Metric, Number
from engine.results.text_forms import count_text, rate_text
from engine.tasks.network.problem import ForwardPass


def _drawings_per_s(run: ComparedRun[ForwardPass]) -> Number:
    kernel_ms = run.result.kernel_ms
    return round(run.result.problem.batch / kernel_ms * 1e3) if kernel_ms else None


def _gflops(run: ComparedRun[ForwardPass]) -> Number:
    kernel_ms = run.result.kernel_ms
    return run.result.problem.flops / kernel_ms / 1e6 if kernel_ms else None


# fmt: off
_METRICS: tuple[Metric[ForwardPass], ...] = (
    Metric("drawings_per_s", "drawings per second", "1/s",
           "Drawings that pass through the network in a second: the batch over the median kernel time.",
           _drawings_per_s, count_text),
    Metric("network_gflops", "GFLOPS", "GFLOPS",
           "10⁹ operations per second: two for each multiply-add of the layers and four for each average, "
           "over the median kernel time.",
           _gflops, rate_text),
)
_FACTS: tuple[Fact[ForwardPass], ...] = (
    Fact("batch", "Batch", "Drawings that pass through the network at once.",
         lambda run: run.result.problem.size_text, lambda run: run.result.problem.batch,
         caption="{}", of_problem=True),
)
# fmt: on
METRICS, FACTS = {ForwardPass.task: _METRICS}, {ForwardPass.task: _FACTS}
