"""Answers what is asked about scalings."""

from functools import partial

from engine.device.devices import backend
from engine.host.protocol import Availability
from engine.host.request import VariantInfo
from engine.run.measure import measure
from engine.run.sampling import SamplingPlan
from engine.run.task import device_for
from tests.architecture.scaling.task import SCALE, toy_job


def describe(request, report):
    return tuple(map(VariantInfo.of, SCALE.variants))


def check(request, report):
    def refuse(known):
        device = device_for(known, request.job.device)
        SCALE.refuse(known, request.job.problem, None, known.default_block, device)

    return tuple(Availability.of(known.key, partial(refuse, known)) for known in SCALE.variants)


def run(request, report):
    job = toy_job(request.job.variant, request.job.problem)
    plan = SamplingPlan(warm_up_s=0.0, budget_s=request.budget_s, fewest=3, most=3)
    return measure(job, backend(device_for(job.variant, "cpu").key), plan, checkpoint=report).result
