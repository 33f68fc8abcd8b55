"""The result of a run of a chain."""

from engine.results.measurement import Measurement
from engine.work.chain_problem import ChainProblem

ChainResult = Measurement[ChainProblem]
