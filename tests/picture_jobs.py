"""Requests and jobs of one step, with all their fields by name."""

from typing import Any

from engine.mask.mask import Mask
from engine.run.task import AnyJob, Choice, Job
from engine.work.filter_task import FILTERING
from engine.work.messages import PictureJob
from engine.work.problem import Parameters, Problem
from engine.work.resolve import Resolved
from engine.work.steps import Chain, MaskStep, OperationStep, PictureRequest


def mask_request(kind: type[PictureRequest] = PictureRequest, range_mode: Any = "clip", **given: Any) -> Any:
    """Return the request of a mask: fields of the step and of the request."""
    own = {name: given.pop(name) for name in set(kind.__struct_fields__) & given.keys()}
    return kind(chain=Chain((MaskStep(**given),), range=range_mode), **own)


def mask_job(**given: Any) -> PictureJob:
    """Return the job of a mask on a picture."""
    return mask_request(PictureJob, **given)


def operation_request(kind: type[PictureRequest] = PictureRequest, settings: Any = (), **given: Any) -> Any:
    """Return the request of an operation, in the picture's type."""
    own = {name: given.pop(name) for name in set(kind.__struct_fields__) & given.keys()}
    step = OperationStep(settings=Parameters(dict(settings).items()), **given)
    return kind(chain=Chain((step,)), result_type="same", **own)


def operation_job(**given: Any) -> PictureJob:
    """Return the job of an operation on a picture."""
    return operation_request(PictureJob, **given)


def resolved_operation(asked: PictureRequest, samples: Any, patch: Any = None) -> tuple[Any, Any, Any]:
    """Return an operation, its problem, and the patch that it looks for."""
    found = Resolved(asked, samples, patch=patch)
    assert asked.operation is not None
    return asked.operation.known, found.problem, found.constant


def filter_job(choice: Choice[Any], problem: Problem, mask: Mask, samples: Any, **more: Any) -> AnyJob:
    """Return the job of filtering samples (H, W, C) with a mask; `more`: the layout of rows, the seed."""
    variant, block, reason = choice
    return Job(FILTERING, variant, block, problem, samples, mask, chosen_because=reason, **more)
