"""Every stage of the network on a real device: random weights and the trained ones, compiled kernels."""

import numpy as np
import pytest

import engine
from engine.device.launches import DeviceKind
from engine.errors import BadValue
from engine.run.measure import SamplingPlan
from engine.tasks.network.operands import held_out, trained_weights
from engine.tasks.network.oracle import verify
from engine.tasks.network.stages import confusion, measured_stage, stage_job
from engine.tasks.network.task import NETWORK_VARIANTS
from tests.engine.variants.network.cases import SMALL, Case, check, scores_of

CUDA = [stage for stage in NETWORK_VARIANTS if stage.device is DeviceKind.CUDA]
QUICK = SamplingPlan(warm_up_s=0.02, budget_s=0.1, fewest=3, most=50, fewest_copies=2)
# On both sides of a chunk of 100.
BATCHES = (1, 100, 101, 1000)

every_cuda_stage = pytest.mark.parametrize("stage", CUDA, ids=lambda stage: stage.key)


@pytest.mark.parametrize("case", [*SMALL, Case(7), Case(33), Case(17, "whole")], ids=str)
@every_cuda_stage
def test_that_a_stage_agrees_with_the_oracle_on_the_device(stage, case, device):
    check(stage, case, device)


@pytest.mark.parametrize("batch", BATCHES)
@every_cuda_stage
def test_that_a_real_batch_is_verified_and_timed_by_layer(stage, batch, gpu):
    found = measured_stage(stage_job(stage, batch), gpu.info.key, QUICK)
    result = found.result
    assert result.is_proven, result.status
    assert result.kernel_ms > 0
    assert found.not_timed == ""
    assert found.layers
    assert all(layer.ms > 0 for layer in found.layers)
    assert bool(found.timeline) == stage.pinned_drawings
    layers = ", ".join(f"{layer.name} {layer.ms:.4f}" for layer in found.layers)
    print(f"{stage.key} {batch}: {result.kernel_ms:.4f} ms; {layers}; {result.status}")  # noqa: T201


def test_that_a_copy_runs_beside_the_kernels_of_the_other_stream(gpu):
    (streams,) = (stage for stage in CUDA if stage.pinned_drawings)
    found = measured_stage(stage_job(streams, 1000), gpu.info.key, QUICK)
    spans = found.timeline
    assert [span.chunk for span in spans if span.step == "kernels"] == list(range(10))
    assert {span.stream for span in spans} == {0, 1}
    assert all(span.end_ms >= span.begin_ms for span in spans)
    kernels = {span.chunk: span for span in spans if span.step == "kernels"}
    copies = {span.chunk: span for span in spans if span.step == "copy in"}
    assert any(copies[chunk + 1].begin_ms < kernels[chunk].end_ms for chunk in range(9))


@every_cuda_stage
def test_that_every_stage_tells_the_held_out_digits_as_float64_does(stage, device):
    digits, weights = held_out(), trained_weights()
    job = stage_job(stage, len(digits))
    scores, _ = scores_of(stage, job.operands[0][:, 0], weights, device)
    assert verify(scores, job.operands[0][:, 0], weights, job.problem, roundings=stage.roundings).passed
    assert confusion(scores).accuracy == 355 / 360


def test_that_the_python_call_uses_the_device(device):
    digits = held_out()
    found = engine.network(digits.pixels, device=device)
    assert (found.stage, found.device) == (CUDA[-1].key, device)
    assert np.array_equal(found.digits, engine.network(digits.pixels, device="cpu").digits)
    with pytest.raises(BadValue, match="is empty"):
        engine.network(np.zeros((28, 28)), device=device)
