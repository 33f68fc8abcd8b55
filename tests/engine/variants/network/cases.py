"""The networks that every stage must get right, and the one check of a stage on one of them.

The same comparison serves the CPU's stages, the CUDA stages in the simulator, and those on a real device.
"""

from dataclasses import dataclass

import numpy as np

from engine.device.devices import backend
from engine.tasks.network.agreement import verify
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.task import network_job
from engine.tasks.network.weights import random_weights


@dataclass(frozen=True)
class Case:
    """One network and batch; the numbers follow from the sizes."""

    batch: int
    side: int = 16
    first: int = 2
    second: int = 3
    hidden: int = 5
    classes: int = 3
    # "even" (random), or "whole": small whole numbers, of which no sum is ever rounded.
    numbers: str = "even"

    def __str__(self):
        sizes = (self.side, self.first, self.second, self.hidden, self.classes)
        return f"{self.batch} of {'-'.join(map(str, sizes))} {self.numbers}"

    @property
    def problem(self):
        """The problem."""
        return ForwardPass(self.batch, self.side, self.first, self.second, self.hidden, self.classes)

    def operands(self):
        """Return drawings and weights."""
        random = np.random.default_rng([self.batch, self.side, self.first, self.second])
        weights = random_weights(self.problem, seed=self.batch)
        drawings = random.random((self.batch, self.side, self.side), np.float32)
        if self.numbers == "whole":
            for name in weights.__dataclass_fields__:
                values = getattr(weights, name)
                values[...] = random.integers(-2, 3, values.shape)
            drawings[...] = random.integers(0, 4, drawings.shape)
        return drawings, weights


SMALL = (Case(1), Case(3, 20, 3, 2, 17, 10), Case(2, numbers="whole"))
"""For the CPU, and a first look on a device."""
SIMULATED = (Case(1, 16, 2, 1, 3, 2), Case(2, 20, 1, 2, 17, 4, "whole"))
"""For the simulator."""
REAL = tuple(Case(batch, 28, 32, 64, 128, 10) for batch in (1, 2, 7, 33))
"""The report's network."""
ODD = (Case(5, 20, 5, 7, 33, 3), Case(3, 32, 33, 18, 130, 11), Case(17, 36, 8, 24, 64, 10, "whole"))


def scores_of(stage, drawings, weights, device):
    """Return the scores of a batch by one stage, over a filled result, and what computed them."""
    job = network_job(stage, drawings, weights)
    machine = backend(device)
    job.refuse(machine.info)
    machine.activate()
    prepared = job.task.prepare(job)
    buffers = job.task.allocate(machine, job)
    job.task.upload(machine, job.operands, buffers)
    machine.fill_result(buffers)
    machine.run(prepared, buffers)
    return machine.download(buffers).copy(), prepared


def check(stage, case, device):
    """Run a stage and compare every score with the oracle."""
    drawings, weights = case.operands()
    scores, prepared = scores_of(stage, drawings, weights, device)
    assert scores.dtype == np.float32
    assert scores.shape == (case.batch, case.classes)
    found = verify(scores, drawings, weights, case.problem, roundings=stage.roundings)
    assert found.passed, found.reason
    assert found.checked_pixels == scores.size
    if case.numbers == "whole":
        assert found.exact
    return scores, prepared
