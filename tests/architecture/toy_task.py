"""A toy task: numbers times a factor. Its problem, its variants, and the class that answers the pipeline."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from engine.device.backend import Buffers
from engine.device.launches import DeviceKind
from engine.geometry.block import Block
from engine.geometry.block_rules import Refusal
from engine.run.job import Job
from engine.tasks.contract import Task
from engine.tasks.work import Work
from engine.variants.contract import AnyVariant
from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True)
class Scaling:
    task: ClassVar[str] = "scaling"
    checked_unit: ClassVar[str] = "number"
    count: int
    factor: float

    size_text = subject = property(lambda self: f"{self.count} numbers")
    longest_side = values = property(lambda self: self.count)
    copied_bytes = property(lambda self: 8 * self.count)
    comparable = property(lambda self: self)

    def csv_columns(self):
        return {"count": self.count, "factor": self.factor}


class Launch:
    def __init__(self, factor, error):
        self._factor, self._error = factor, error

    def launch(self, image, out, stream=None):
        np.multiply(image, self._factor, out=out)
        out += self._error


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyVariant(AnyVariant[Scaling, None]):
    task: ClassVar[str] = Scaling.task


def toy_variant(key):
    """Return a way to scale: one is wrong, one is for the GPU, and one for at most three numbers."""

    def work(problem, block):
        count = problem.count
        return Work(count, count, count, 4 * count, 4 * count, 8 * count)

    def unsupported(problem, constant, block, limits):
        many = key == "for-few" and problem.count > 3
        return Refusal("There are more than 3 numbers.") if many else None

    return ToyVariant(
        key=key,
        title="A toy",
        device=DeviceKind.CUDA if key == "on-the-gpu" else DeviceKind.CPU,
        idea="",
        default_block=Block(1, 1),
        uses_block=False,
        prepare=lambda problem, constant, block: Launch(problem.factor, float(key == "wrong")),
        work=work,
        unsupported=unsupported,
        made_by=partial(toy_variant, key),
    )


KEYS = ("in-one-go", "wrong", "on-the-gpu", "for-few")


class Scale(Task[Scaling, np.ndarray, ToyVariant]):
    problem = Scaling

    def expected_launch_s(self, job, device):
        return 0.1

    def allocate(self, backend, job, host_out=None):
        out = np.empty(job.problem.count, np.float32) if host_out is None else host_out
        return Buffers(job.operands, out, out)

    def upload(self, backend, operands, buffers):
        pass

    def verify(self, values, job, checkpoint):
        checkpoint(0.0)
        count, factor = job.problem.count, job.problem.factor
        error = float(np.abs(values - factor * job.operands.astype(np.float64)).max())
        passed = error <= 1e-6
        reason = "" if passed else "not verified: a number is off"
        return Verification(passed, error, 1e-6, count, count, error == 0.0, reason)


SCALE = Scale()


def toy_job(key, problem, seed=0):
    """Return a job of the toy task on random numbers."""
    numbers = np.random.default_rng(seed).random(problem.count, np.float32)
    chosen = toy_variant(key)
    return Job(SCALE, chosen, chosen.default_block, problem, numbers, seed=seed)
