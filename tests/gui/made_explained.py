"""Limits of a GPU, runs on it, and the reason for the time of a run, as the engine would find them."""

from msgspec.structs import replace

from engine.device_info import KernelResources, LaunchFacts
from engine.errors import Reason
from engine.explain import answers
from engine.explain.device_limits import DeviceLimits, Limit
from engine.explain.messages import CompiledLaunchRequest, LaunchRequest
from engine.geometry.block import Block
from engine.host.request import Ready
from engine.results.measurement import Bound, ExplainedTime
from engine.work.filtering.variants import filter_work
from gui.explore.jobs import comparable_of, problem_of
from tests.gui.made_results import CPU_DEVICE, CUDA_DEVICE, SIMULATOR_DEVICE, VARIANTS
from tests.made_runs import make_result

SENTENCE = (
    "Issue-bound: 72 instructions per tap, 52 of them for 64-bit addresses. That takes at least 75 % of the "
    "time. `tiled` reads 1.7 instead of 25 cells per result."
)
NOT_MEASURED = Reason(
    "not-measured", "The limits of NVIDIA H200 are not known", remedy="`devices --measure` measures them."
)


def made_advice(asked):
    """Return the answer about launches, with registers as if a kernel was compiled where that is asked."""
    advice = answers.advice(LaunchRequest(asked.job, asked.architecture), print)
    if not advice.launches:
        return advice
    registers = 60 if isinstance(asked, CompiledLaunchRequest) else 0
    taken = tuple(KernelResources(registers, one.facts.shared_bytes, 0) for one in advice.launches)
    job, gpu = answers.kernel_job(asked.job, asked.architecture)
    return replace(answers.launch_advice(job, gpu, taken), reason="")


def made_limits(device="cuda:0"):
    """Return limits near those of an H200."""
    return DeviceLimits(
        device,
        copy_bytes_per_s=Limit(4.1e12, 4.8e12),
        l2_bytes_per_s=Limit(9.6e12),
        multiply_adds_per_s=Limit(30e12, 33.5e12),
        copies=((1_000_000, 6.0e12), (200_000_000, 4.1e12)),
    )


def made_bounds(measured_ms):
    """Return bounds of which the tallest is three quarters of a time."""
    issued = "instructions issued", 0.75, 2.1e9, "instructions of warps", 1.04e12, "PTX of sm_90"
    of_time = (
        ("instructions", *issued),
        ("sectors", "loads by sectors", 0.42, 6.3e8, "sectors of 32 bytes", 3.0e11, "the kernel's source"),
        ("copy", "copy", 0.08, 3.9e6, "bytes", 4.1e12, "the problem"),
        ("multiply-adds", "multiply-adds", 0.03, 2e7, "multiply-adds", 3.0e13, "the problem"),
    )
    return tuple(Bound(key, title, share * measured_ms, *counted) for key, title, share, *counted in of_time)


def made_time(asked, limits):
    """Return the answer to a request, with bounds where the limits of its device were measured."""
    device = asked.job.device
    if device not in limits:
        return ExplainedTime(device, transactions_per_request=1.9, not_explained=NOT_MEASURED)
    bounds = made_bounds(asked.measured_ms or 1.0)
    remedy = "tiled" if asked.job.variant != "tiled" else ""
    saves = "Against `naive`: loads." if asked.job.variant == "tiled" else ""
    return ExplainedTime("NVIDIA H200", bounds, bounds[0].ms, asked.measured_ms, SENTENCE, remedy, 1.9, saves)


WITH_A_GPU = Ready(VARIANTS, (CPU_DEVICE, CUDA_DEVICE, SIMULATOR_DEVICE))
LAUNCH = LaunchFacts((64, 256, 1), (32, 8, 1), 40, 1728, 0, 6, 0.75, "registers", 20.69, 0.69, 1.69, 0.01)


def gpu_run(job, variant="naive", kernel_ms=0.4, **fields):
    """Return the result of a job on a GPU."""
    problem = problem_of(job)
    taps = problem.multiply_adds
    settled = {
        "mask_name": job.mask.name,
        "weights_digest": job.mask.weights_digest,
        "problem": problem,
        "block": Block(32, 8),
        "launches": (LAUNCH,),
        "work": filter_work(problem, picture_loads=taps, weight_loads=taps),
    }
    return make_result(variant, kernel_ms, **(settled | fields))


def add_gpu_run(results, workspace, variant="naive", kernel_ms=0.4, **fields):
    """Add a run of the present job on a GPU to the results, and return its result."""
    job = workspace.filter_job().changed(variant=variant, block=Block(32, 8), device="cuda:0")
    result = gpu_run(job, variant, kernel_ms, **fields)
    results.add(result, comparable_of(job), job)
    return result
