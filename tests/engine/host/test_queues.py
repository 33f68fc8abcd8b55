"""Which questions are answered beside a run, and which wait for it."""

from engine.explain.device_limits import KeptLimits, MeasureLimits
from engine.explain.messages import (
    AblationJob,
    CodeRequest,
    CompiledLaunchRequest,
    LaunchRequest,
    TimeRequest,
)
from engine.host.request import QueuePolicy, Run
from engine.mask.generators import gaussian
from tests.picture_jobs import mask_job, mask_request


def test_that_what_compiles_counts_or_measures_waits_for_what_runs_and_nothing_else():
    job = mask_job(picture=None, variant="naive", mask=gaussian(5))
    ablation = mask_request(AblationJob, picture=None, variant="naive", mask=gaussian(5))
    waiting = (
        MeasureLimits("cpu"),
        CodeRequest(job),
        CompiledLaunchRequest(job),
        TimeRequest(job),
        Run(ablation),
    )
    assert {request.queue for request in waiting} == {QueuePolicy.IN_ORDER}
    assert {request.queue for request in (KeptLimits("cpu"), LaunchRequest(job))} == {QueuePolicy.AT_ONCE}
