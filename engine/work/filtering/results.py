"""The result of a run of a filter."""

from typing import TYPE_CHECKING

from engine.results.measurement import Measurement

if TYPE_CHECKING:
    from engine.work.filtering.problem import Problem

    RunResult = Measurement[Problem]
else:
    # Scripts ask `isinstance(result, ...)`; a class with its parameter cannot answer.
    RunResult = Measurement
