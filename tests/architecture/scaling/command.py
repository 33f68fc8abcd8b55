"""The command of the toy task."""

from dataclasses import dataclass

from engine.commands.arguments import Settings, group, option, whole
from engine.commands.measuring import Cells, Measuring, measure_cells
from tests.architecture.scaling.problem import Scaling
from tests.architecture.scaling.task import SCALE, toy_job


@dataclass(frozen=True, kw_only=True)
class ScaleSettings(Settings):
    about = "A toy."
    count: int = option("--count N  how many numbers", 5, whole("--count", 1, 100))
    measuring: Measuring = group(Measuring, seed_of="the numbers")


def run(settings: ScaleSettings) -> int:
    how, problem = settings.measuring, Scaling(settings.count, 2.0)
    jobs = [toy_job("in-one-go", problem, how.seed)]
    cells = Cells(
        command="scale",
        variants=SCALE.variants,
        count=1,
        jobs=jobs,
        name=lambda result: "toy",
        baseline="in-one-go",
        requested={"request": how.document},
    )
    return measure_cells(cells, how, json=settings.json)
