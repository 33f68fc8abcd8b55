"""A new task is its folder and a line in the registry: pipeline, host and result files follow."""

import csv
import io
import json
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

from engine.device.backend import Buffers
from engine.device.devices import backend, device_named
from engine.device.launches import DeviceKind
from engine.errors import Cancelled
from engine.geometry.block import Block
from engine.geometry.refusal import Refusal, UnsupportedVariant
from engine.host.executor import SimulatorExecutor, executor_for
from engine.results.compare import compared
from engine.results.export import results_csv, results_document
from engine.results.strict_json import json_text
from engine.results.work import Work
from engine.run.compute import compute
from engine.run.device_choice import device_for
from engine.run.executor import measure_on, outcome_of
from engine.run.measure import measure
from engine.run.sampling import NO_SAMPLES, SamplingPlan
from engine.run.sweep import counted, sweep
from engine.run.task import Job, Task
from engine.run.variant import AnyVariant
from engine.tasks.read_results import results_from_document
from engine.tasks.registry import TASKS
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
        return Refusal("too-many", "There are more than 3 numbers") if many else None

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


PROBLEM = Scaling(5, 2.5)
QUICK = SamplingPlan(warm_up_s=0.0, budget_s=0.0, fewest=3, most=3)
PATIENCE_S = 60.0


def test_that_a_new_task_is_run_as_any_other():
    job = toy_job("in-one-go", PROBLEM, seed=7)
    assert device_for(job.variant, "cuda:3").key == "cpu"
    outcome = measure(job, backend("cpu"), QUICK)
    assert outcome.values is not None
    assert np.array_equal(outcome.values, compute(job, backend("cpu")))
    result = outcome.result
    assert (result.task, result.seed, result.work) == ("scaling", 7, job.variant.work(PROBLEM, job.block))
    assert result.status.startswith("verified: every number")
    assert len(result.timing.kernel.samples_ms) == 3
    wrong = measure(toy_job("wrong", PROBLEM), backend("cpu"), QUICK).result
    assert (wrong.status, wrong.kernel_ms) == ("not verified: a number is off", None)


def test_that_a_new_task_can_be_refused_and_stopped():
    refused = outcome_of(toy_job("for-few", PROBLEM), device_named("cpu"), QUICK, executor_for)
    assert isinstance(refused.error, UnsupportedVariant)
    assert refused.result.refused

    def stop(step):
        if step.stage.startswith("verifying"):
            raise Cancelled("The request", "it was stopped")

    with pytest.raises(Cancelled):
        measure(toy_job("in-one-go", PROBLEM), backend("cpu"), QUICK, checkpoint=stop)


def test_that_a_sweep_of_a_new_task_is_written_and_read_back(monkeypatch):
    monkeypatch.setitem(TASKS, Scaling.task, SCALE)
    jobs = [toy_job(key, PROBLEM) for key in KEYS]
    seen = []
    results, fault = sweep(jobs, "cpu", 0.0, executor_for, lambda result: seen.append(result.variant))
    assert fault is None
    assert seen == list(KEYS)
    assert [result.is_proven for result in results] == [True, False, False, False]
    assert "It is written for CUDA devices" in results[2].status
    assert counted(jobs[3], "cpu").refused
    runs = compared(results, "in-one-go")
    document = json.loads(json_text(results_document(runs, "in-one-go", {})))
    assert list(results_from_document(document)) == results
    rows = list(csv.DictReader(io.StringIO(results_csv(runs, "in-one-go"))))
    assert (rows[0]["task"], rows[0]["count"], rows[0]["verified"]) == ("scaling", "5", "yes")


@pytest.mark.slow
def test_that_a_host_does_the_job_of_a_new_task():
    job = toy_job("in-one-go", PROBLEM)
    executor = SimulatorExecutor()
    try:
        outcome = executor.submit(measure_on, job, "cpu", NO_SAMPLES).result(PATIENCE_S)
    finally:
        executor.shutdown()
    assert np.array_equal(outcome.values, compute(job, backend("cpu")))
    assert outcome.result.problem == PROBLEM
    assert outcome.result.is_proven
