"""The batches that every stage must get right, and the one check of a stage on one of them.

The same comparison serves the CPU's stages, the CUDA stages in the simulator, and those on a real device.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from engine.device.devices import backend
from engine.tasks.network.operands import SHAPES, Weights
from engine.tasks.network.oracle import forward_with_bounds, verify
from engine.tasks.network.problem import SIDE, ForwardPass
from engine.tasks.network.task import network_job


def random_weights(seed):
    """Return random weights, scaled so that values keep their size from layer to layer."""
    random = np.random.default_rng(seed)

    def made(shape):
        terms = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        return random.normal(0.0, 1.0 / np.sqrt(terms), shape).astype(np.float32)

    return Weights(**{name: made(shape) for name, shape in SHAPES.items()})


@dataclass(frozen=True)
class Case:
    """A batch; the numbers follow from its size."""

    batch: int
    # "even" (random), or "whole": small whole numbers, of which no sum is ever rounded.
    numbers: str = "even"

    def __str__(self):
        return f"{self.batch} {self.numbers}"

    @property
    def problem(self):
        """The problem."""
        return ForwardPass(self.batch)

    def operands(self):
        """Return drawings and weights."""
        random = np.random.default_rng(self.batch)
        weights = random_weights(self.batch)
        drawings = random.random((self.batch, SIDE, SIDE), np.float32)
        if self.numbers == "whole":
            for name, low, high in (
                ("convolution_1", -1, 2), ("convolution_2", -1, 2), ("hidden", 0, 2), ("output", -1, 2),
            ):  # fmt: skip
                values = getattr(weights, name)
                values[...] = random.integers(low, high, values.shape)
            drawings[...] = random.integers(0, 2, drawings.shape)
        return drawings, weights


SMALL = (Case(1), Case(2, "whole"), Case(5))
"""For the CPU, and a first look on a device."""
SIMULATED = (Case(2, "whole"),)
"""For the simulator."""


def scores_of(stage, drawings, weights, device):
    """Return the scores of a batch by one stage, over a filled result, and what computed them."""
    job = network_job(stage, drawings, weights)
    machine = backend(device)
    job.refuse(machine.info)
    machine.activate()
    prepared, buffers = job.prepare(), job.filled(machine)
    machine.fill_result(buffers)
    machine.run(prepared, buffers)
    return machine.download(buffers).copy(), prepared


@cache
def exact_scores(case):
    """Return the oracle's scores of whole numbers: no sum is rounded, so that every stage has their bits."""
    return forward_with_bounds(*case.operands())["output"].values


def check(stage, case, device):
    """Run a stage and compare every score with the oracle."""
    drawings, weights = case.operands()
    scores, prepared = scores_of(stage, drawings, weights, device)
    assert scores.dtype == np.float32
    assert scores.shape == (case.batch, 10)
    if case.numbers == "whole":
        assert np.array_equal(scores, exact_scores(case))
    else:
        found = verify(scores, drawings, weights, case.problem, roundings=stage.roundings)
        assert found.passed, found.reason
        assert found.checked_pixels == scores.size
    return scores, prepared
