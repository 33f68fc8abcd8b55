"""Limits of a GPU and runs on it, reasons for times, ablations and code, as the engine would find them."""

from dataclasses import replace

from msgspec import structs

from engine.errors import BadValue, Reason
from engine.explain import answers
from engine.explain.ablation_results import NO_GPU, Ablation, Altered, Cost
from engine.explain.code_diff import diff_of
from engine.explain.code_lines import KernelSource, ListingForm, Role, SourceFunction, story_in
from engine.explain.device_limits import DeviceLimits, Limit
from engine.explain.kernel_code import ptx_listing
from engine.explain.messages import CompiledLaunchRequest, LaunchRequest, ShownCode
from engine.geometry.block import Block
from engine.host.request import Ready
from engine.results.measurement import Bound, ExplainedTime, Spread
from engine.results.occupancy import KernelResources, LaunchFacts
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
    return structs.replace(answers.launch_advice(job, gpu, taken), reason="")


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
    default_fields = {
        "mask_name": job.mask.name,
        "weights_digest": job.mask.weights_digest,
        "problem": problem,
        "block": Block(32, 8),
        "launches": (LAUNCH,),
        "work": filter_work(problem, picture_loads=taps, weight_loads=taps),
    }
    return make_result(variant, kernel_ms, **(default_fields | fields))


def add_gpu_run(results, workspace, variant="naive", kernel_ms=0.4, **fields):
    """Add a run of the present job on a GPU to the results, and return its result."""
    job = workspace.filter_job().changed(variant=variant, block=Block(32, 8), device="cuda:0")
    result = gpu_run(job, variant, kernel_ms, **fields)
    results.add(result, comparable_of(job), job)
    return result


WHOLE_MS = 0.36
# What the kernel takes without a cost.
WITHOUT_MS = {Cost.BORDER_TEST: 0.29, Cost.PICTURE_LOADS: 0.31, Cost.WEIGHT_LOADS: 0.33, Cost.STORES: 0.352}


def spread(median_ms):
    """Return 57 samples around a median."""
    return Spread(tuple(median_ms * (1 + (n - 28) / 2000) for n in range(57)))


def made_ablation(job, without_ms=None, **fields):
    """Return the answer to a job: times of a naive kernel, which has no barrier."""
    without_ms = WITHOUT_MS | (without_ms or {})
    timed = {cost: Altered(cost, kernel=spread(ms), instructions=20.0) for cost, ms in without_ms.items()}
    altered = [timed.get(cost, Altered(cost)) for cost in Cost]
    whole = Altered(kernel=spread(WHOLE_MS), instructions=53.2)
    given = {"device": "cuda:0", "machine": "Made GPU", "whole": whole, "altered": tuple(altered)}
    return Ablation(job.variant, job.variant.capitalize(), job.block or Block(32, 8), **(given | fields))


def counted_ablation(job):
    """Return the answer where no GPU is: instructions for a tap."""
    found = made_ablation(job)
    altered = [
        Altered(one.cost, instructions=53.2 * one.kernel.median_ms / WHOLE_MS) if one.kernel else one
        for one in found.altered
    ]
    there = {"whole": Altered(instructions=found.whole.instructions), "altered": tuple(altered)}
    return made_ablation(job, device="", machine="sm_90", reason=NO_GPU, **there)


FIRST_LINE = 40
_HEAD = "@kernel_factory\ndef kernel():\n    @cuda.jit\n    def correlate_{}(image, out):\n"
_LOADED = (
    "        tile = cuda.shared.array(8, float32)\n"
    "        # Load the tile.\n"
    "        tile[i] = image[i]\n"
    "        cuda.syncthreads()\n"
    "        out[i] = tile[i]\n"
)
_DIRECT = "        out[i] = image[i]\n"
_END = "\n    return correlate_{}"
_PTX = """.file 1 "/somewhere/engine/variants/ladder/{0}.py"
.visible .entry _ZN1{0}E(
)
{{
\t.loc 1 {1} 5
\tld.global.f32 \t%f1, [%rd1];
\tfma.rn.f32 \t%f2, %f1, %f1, %f1;
\t.loc 1 {2} 5
\tst.global.f32 \t[%rd2], %f2;
\tret;
}}
"""
NO_DISASSEMBLER = BadValue("SASS", "it needs nvdisasm", "`pip install nvidia-cuda-nvdisasm` brings it.")


def made_code(asked):
    """Return the answer to a request; there is no disassembler."""
    if asked.form is ListingForm.SASS:
        raise NO_DISASSEMBLER
    job, operation = asked.job, asked.job.operation
    key = f"cpu-{operation.operation}" if operation and job.variant == "auto" else job.variant
    keys = [key, *([asked.other] if asked.other else [])]
    functions = [_function(one) for one in keys]
    kernels = [_listed(one, asked) for one in keys] if asked.form else []
    compared = kernels or functions
    diff = diff_of(compared[:1], compared[1:], tuple(keys)) if asked.other else None
    story = story_in(f"`{key}`: its title.\n\nIdea\n    What it\n    does.\n")
    source = KernelSource(story, (functions[0],), "")
    return ShownCode(key, Block(32, 8), "a made problem", "", "", source, tuple(kernels[:1]), diff)


def _function(key):
    name = key.replace("-", "_")
    body = _LOADED if key == "tiled" else _DIRECT
    lines = f"{_HEAD.format(name)}{body}{_END.format(name)}".split("\n")
    path = f"engine/variants/ladder/{name}.py"
    return SourceFunction(Role.KERNEL, f"correlate_{name}", path, FIRST_LINE, tuple(lines))


def _listed(key, asked):
    name, last = key.replace("-", "_"), FIRST_LINE + (8 if key == "tiled" else 4)
    text = _PTX if key == "tiled" else _PTX.replace("\tfma", "\tmul")
    ptx = text.format(name, FIRST_LINE + 6 if key == "tiled" else last, last)
    kernel = f"correlate_{name}"
    return replace(ptx_listing(ptx, kernel, str(asked.architecture)), passes=(kernel,))
