"""Our own variants as methods of the benchmark: which are registered, and what one means for a cell."""

from bench.peers.library import Job, Refused
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import EngineError
from engine.mask.mask import Mask
from engine.run.task import Choice
from engine.run.task import Job as Asked
from engine.work.filter_task import FILTERING, describe_problem
from engine.work.filtering.planner import choose
from engine.work.filtering.variants import VARIANTS, Variant
from engine.work.problem import Problem, as_samples


def keys(names: tuple[str, ...], kind: DeviceKind) -> tuple[str, ...]:
    """Return those names that are registered for that kind of device; "all" stands for every one."""
    known = [AUTO, *(variant.key for variant in VARIANTS if variant.device is kind)]
    return tuple(known) if "all" in names else tuple(key for key in names if key in known)


def chosen(method: str, job: Job, device: DeviceInfo) -> tuple[Choice[Variant], Problem, Mask]:
    """Return the variant, problem and mask that a method means for a cell; results are of the picture's type.

    Raises Refused where the variant cannot do it, in its own words.
    """
    mask = Mask(job.mask.weights)
    problem = describe_problem(as_samples(job.pictures[0]), mask, "zero", 0.0, job.cell.dtype)
    try:
        choice = choose(method, problem, mask, None, device)
        Asked(FILTERING, *choice[:2], problem, None, mask).refuse_problem(device)
    except EngineError as error:
        raise Refused(str(error)) from error
    return choice, problem, mask
