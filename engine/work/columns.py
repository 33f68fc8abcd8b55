"""What tables and files tell of a run of a chain, beside what they tell of every run."""

from engine.results.columns import Fact
from engine.results.metrics import Metric
from engine.results.quantities import MISSING
from engine.work.chain_problem import ChainProblem
from engine.work.picture_columns import PICTURE

METRICS: tuple[Metric[ChainProblem], ...] = ()
# fmt: off
FACTS: tuple[Fact[ChainProblem], ...] = (
    PICTURE,
    Fact("chain", "Chain", "The chain by its title. Sorted by its steps.",
         lambda run: run.result.problem.chain, lambda run: len(run.result.problem.steps.split("; ")),
         caption="{}", of_problem=True),
    Fact("steps", "Steps", "What each step does, and what it reads.",
         lambda run: run.result.problem.steps, of_problem=True, shown=False),
    Fact("step_times", "Step times", "What each step takes by itself.",
         lambda run: run.result.steps_text or MISSING, shown=False),
)
# fmt: on
