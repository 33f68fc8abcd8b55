"""What the window learns of a launch: at once without compiling, and then with registers."""

import pytest

from engine.errors import Cancelled
from engine.explain.gpus import Architecture
from engine.explain.launch import answers
from engine.explain.messages import CompiledLaunchRequest, LaunchRequest
from engine.geometry.block import Block
from engine.mask.generators import gaussian
from tests.engine.variants.emitted import NEEDS_NVVM
from tests.picture_jobs import mask_job

AMPERE = Architecture(8, 6)


@pytest.fixture(autouse=True)
def _nothing_compiled(monkeypatch):
    monkeypatch.setattr(answers, "_known", type(answers._known)())


def job_of(picture, key, **fields):
    return mask_job(picture=picture, variant=key, **{"mask": gaussian(5)} | fields)


def asked(job, kind=LaunchRequest, report=lambda step: None):
    return answers.describe(kind(job, AMPERE), report)


def test_that_a_launch_is_described_at_once_without_its_registers(picture):
    advice = asked(job_of(picture, "tiled", block=Block(16, 8)))
    (launch,), (drawn,) = advice.launches, advice.curves
    assert advice.gpu == "sm_86 (GeForce RTX 3090)"
    assert launch.facts.grid == (13, 17, 1)
    assert (launch.facts.registers, drawn.registers, advice.is_complete) == (None, (), False)


@pytest.mark.slow
@NEEDS_NVVM[0]
@NEEDS_NVVM[1]
def test_that_registers_that_were_found_are_in_every_later_answer(picture):
    job = job_of(picture, "tiled")
    compiled = asked(job, CompiledLaunchRequest)
    assert compiled.is_complete
    assert compiled.launches[0].facts.registers > 16
    assert asked(job) == compiled
    # Another block is another kernel.
    assert not asked(job_of(picture, "tiled", block=Block(8, 8))).is_complete


@NEEDS_NVVM[0]
@NEEDS_NVVM[1]
def test_that_a_question_that_is_not_wanted_any_more_compiles_nothing(picture):
    def stop(step):
        raise Cancelled("The request", "it was stopped")

    with pytest.raises(Cancelled):
        asked(job_of(picture, "tiled"), CompiledLaunchRequest, stop)


@pytest.mark.parametrize(
    ("key", "fields", "reason"),
    [
        ("cpu-serial", {}, "runs on the CPU, which has no launches"),
        ("fft", {}, "no kernels of ours"),
        ("tiled", {"block": Block(64, 64)}, "The nearest legal block is 64 × 16."),
    ],
)
def test_that_where_there_is_no_launch_the_reason_is_said(picture, key, fields, reason):
    advice = asked(job_of(picture, key, **fields))
    assert reason in advice.reason
    assert (advice.launches, advice.is_complete) == ((), True)


def test_that_a_process_that_compiles_nothing_says_so(picture, monkeypatch):
    monkeypatch.setattr("engine.explain.launch.launches.missing", "numba-cuda is not installed")
    advice = asked(job_of(picture, "tiled"), CompiledLaunchRequest)
    assert advice.launches
    assert advice.reason.startswith("Not compiled: numba-cuda is not installed.")
