"""The toy task, its job, answers and command. A variant is wrong, one for a GPU, one for at most 3."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from engine.device.backend import Buffers
from engine.device.devices import backend
from engine.device.launches import DeviceKind
from engine.geometry.block import Block, Refusal
from engine.host.request import Availability, VariantInfo
from engine.results.problem import Work
from engine.run.measure import SamplingPlan, measure
from engine.run.task import Job, Task, device_for
from engine.run.variant import VariantOf
from engine.verify.closeness import Verification
from tests.architecture.scaling.problem import Scaling

KEYS = ("in-one-go", "wrong", "on-the-gpu", "for-few")


class Launch:
    def __init__(self, factor, error):
        self._factor, self._error = factor, error

    def launch(self, image, out, stream=None):
        np.multiply(image, self._factor, out=out)
        out += self._error


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyVariant(VariantOf[Scaling, None]):
    task: ClassVar[str] = Scaling.task


def toy_variant(key):
    def work(problem, block):
        count = problem.count
        return Work(count, count, count, 4 * count, 4 * count, 8 * count)

    def unsupported(problem, constant, block, limits):
        many = key == "for-few" and problem.count > 3
        return Refusal("too-many", "There are more than 3 numbers") if many else None

    return ToyVariant(
        key=key,
        title="A toy",
        device=DeviceKind.CUDA if key == "on-the-gpu" else DeviceKind.CPU,
        idea="Numbers grow.",
        default_block=Block(1, 1),
        uses_block=False,
        prepare=lambda problem, constant, block: Launch(problem.factor, float(key == "wrong")),
        work=work,
        unsupported=unsupported,
    )


class Scale(Task[Scaling, ToyVariant]):
    problem = Scaling
    heading = "Scalings (`python main.py scale`)"
    variants = tuple(map(toy_variant, KEYS))

    def expected_launch_s(self, job, device):
        return 0.1

    def allocate(self, backend, job, host_out=None):
        out = np.empty(job.problem.count, np.float32) if host_out is None else host_out
        return Buffers(job.operands, out, out)

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


def describe(request, report):
    return tuple(map(VariantInfo.of, SCALE.variants))


def check(request, report):
    def refuse(known):
        job = Job(SCALE, known, known.default_block, request.job.problem, None)
        job.refuse_problem(device_for(known, request.job.device))

    return tuple(Availability.of(known.key, partial(refuse, known)) for known in SCALE.variants)


def run(request, report):
    job = toy_job(request.job.variant, request.job.problem)
    plan = SamplingPlan(warm_up_s=0.0, budget_s=request.budget_s, fewest=3, most=3)
    return measure(job, backend(device_for(job.variant, "cpu").key), plan, checkpoint=report).result
