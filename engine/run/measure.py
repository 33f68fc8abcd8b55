"""Runs one variant on one problem: refuse or prepare, verify, warm up, sample.

Called on: the main thread of the engine's process, or of a script.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.devices import SIMULATOR_SIDE, device_named
from engine.device.launches import DeviceKind, Prepared
from engine.device_info import DeviceInfo
from engine.errors import (
    BadValue,
    Cancelled,
    DeviceFault,
    DeviceUnavailable,
    EngineError,
    UnsupportedVariant,
)
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.results.measurement import RunResult, Timing
from engine.run.plan import SamplingPlan
from engine.run.poisoning import run_on_poison
from engine.run.sampling import Checkpoint, Sampler, Step, timed
from engine.tasks.filtering.agreement import verify
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.planner import Choice
from engine.variants.auto.suitability import why_not
from engine.variants.contract import Variant, refuse_samples
from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True)
class Outcome:
    """The filtered picture (None if it failed), the result that tells about it, and the error behind a failure."""

    values: np.ndarray | None
    result: RunResult
    error: EngineError | None = None


Verifier = Callable[..., Verification]
"""Called as `engine.tasks.filtering.agreement.verify` is."""


def device_for(variant: Variant, wanted: str) -> DeviceInfo:
    """Return the device that a variant runs on when `wanted` is chosen: a CPU variant always runs on the CPU.

    Raises
    ------
    DeviceUnavailable
        A CUDA variant, and no CUDA device that works; the reason says why.
    """
    if variant.device is DeviceKind.CPU:
        return device_named("cpu")
    if wanted != "auto":
        return device_named(wanted)
    try:
        return device_named("cuda")
    except DeviceUnavailable as error:
        remedy = (
            f"Choose a CPU variant, or the simulator (pictures up to {SIMULATOR_SIDE} x {SIMULATOR_SIDE})."
        )
        raise DeviceUnavailable(f"variant '{variant.key}' needs a CUDA device", error.why, remedy) from error


def refuse_unsuitable(
    variant: Variant, problem: Problem, mask: Mask, block: Block, device: DeviceInfo
) -> None:
    """Refuse what a variant cannot do on a device.

    Raises
    ------
    UnsupportedVariant
        Another kind of device, a block that is not legal there, or what the variant itself cannot do.
    BadValue
        A picture too large for the simulator.
    """
    if variant.device.value != device.kind:
        raise UnsupportedVariant(
            f"variant '{variant.key}' on {device.title}",
            f"it is written for {variant.device.value.upper()} devices",
            "Choose another variant, or another device.",
        )
    if device.key == "simulator" and max(problem.height, problem.width) > SIMULATOR_SIDE:
        raise BadValue(
            f"a picture of {problem.width} x {problem.height} in the simulator",
            f"Python threads play the GPU's, so it takes pictures up to {SIMULATOR_SIDE} x {SIMULATOR_SIDE}",
            "Choose a smaller picture, or another device.",
        )
    refusal = why_not(variant, problem, mask, block, device.limits)
    if refusal is not None:
        # Where no other block would do, the block is not the reason.
        asked = f" with a block of {block}" if refusal.nearest_block else ""
        raise UnsupportedVariant(
            f"variant '{variant.key}'{asked}",
            refusal.reason,
            refusal.remedy,
            refusal.nearest_block,
        )


def refuse_strange_samples(variant: Variant, samples: np.ndarray) -> None:
    """Refuse a picture with NaN or infinity where a variant cannot keep them in their place.

    Raises
    ------
    UnsupportedVariant
    """
    refusal = refuse_samples(variant, samples)
    if refusal is not None:
        raise UnsupportedVariant(f"variant '{variant.key}'", refusal.reason, refusal.remedy)


def expected_launch_s(choice: Choice, problem: Problem, device: DeviceInfo) -> float:
    """Estimate one launch before any was seen, seconds; the choice is one that the device can do.

    The plain loops on one core make about 0.3 G multiply-adds a second, the plain kernel on a small GPU 10 G, the simulator
    0.1 M. There, a thread that only loads costs as much as one that computes (its start and its barriers take about 1 ms), and a block may have twenty
    such threads for each result: `implicit-gemm` with one mask in a block of 20 x 20 takes ten times as long as `tiled`.
    """
    if device.key != "simulator":
        return 0.5 + problem.multiply_adds / (1e10 if device.kind == "cuda" else 3e8)
    launches = choice.variant.plan(problem, choice.block)
    threads = sum(launch.blocks * math.prod(launch.block) for launch in launches)
    rows, columns = problem.mask_shape
    return 0.5 + max(problem.multiply_adds, threads * rows * columns) / 1e5 + threads / 1e3


def filter_once(
    choice: Choice,
    problem: Problem,
    mask: Mask,
    samples: np.ndarray,
    backend: Backend,
    host_out: np.ndarray | None = None,
    layout: Layout = Layout.PITCHED,
) -> np.ndarray:
    """Filter, unverified and untimed: a preview.

    Parameters
    ----------
    choice : Choice
    problem : Problem
    mask : Mask
    samples : ndarray of shape (H, W, C), of the problem's dtype
    backend : Backend
    host_out : ndarray of shape (H, W, C), of the problem's `result_dtype`, optional
        Where the result is wanted.
    layout : Layout
        Of the rows on a CUDA device.

    Returns
    -------
    ndarray of shape (H, W, C), of the problem's `result_dtype`

    Raises
    ------
    EngineError
    """
    refuse_unsuitable(choice.variant, problem, mask, choice.block, backend.info)
    refuse_strange_samples(choice.variant, samples)
    backend.activate()
    prepared = choice.variant.prepare(problem, mask, choice.block)
    buffers = backend.allocate(samples, host_out, layout, problem.result_dtype)
    backend.upload(samples, buffers)
    backend.run(prepared, buffers)
    return backend.download(buffers)


def measure(
    choice: Choice,
    problem: Problem,
    mask: Mask,
    samples: np.ndarray,
    backend: Backend,
    plan: SamplingPlan,
    *,
    checkpoint: Checkpoint = lambda step: None,
    seed: int = 0,
    host_out: np.ndarray | None = None,
    layout: Layout = Layout.PITCHED,
    verifier: Verifier = verify,
) -> Outcome:
    """Run one variant: verify, warm up, sample.

    Parameters
    ----------
    choice : Choice
        Variant and block.
    problem : Problem
    mask : Mask
    samples : ndarray of shape (H, W, C), of the problem's dtype
    backend : Backend
    plan : SamplingPlan
    checkpoint : callable of Step
        Called before each step.
    seed : int
        Of the rectangles that are verified where the whole picture is too much.
    host_out : ndarray of shape (H, W, C), of the problem's `result_dtype`, optional
        Where the result is wanted.
    layout : Layout
        Of the rows on a CUDA device.
    verifier : callable
        Compares the result with the oracle; another one where it is the results of several masks.

    Returns
    -------
    Outcome
        A failure is a result with its reason; nothing is raised for it.

    Raises
    ------
    Cancelled
        By the checkpoint.
    DeviceFault
        The process is lost for CUDA; whoever owns it has to end it.
    """
    result = RunResult(
        variant=choice.variant.key,
        title=choice.variant.title,
        device=backend.info.key,
        problem=problem,
        mask_name=mask.name or "custom",
        weights_digest=mask.weights_digest,
        block=choice.block if choice.variant.uses_block else None,
        environment=backend.environment(),
        chosen_because=choice.reason,
        seed=seed,
        layout=str(layout) if backend.copies else "",
    )
    try:
        return _Run(
            choice, problem, mask, samples, backend, plan, checkpoint, seed, host_out, layout, verifier
        ).outcome(result)
    except (Cancelled, DeviceFault):
        raise
    except EngineError as error:
        return Outcome(None, replace(result, failure=str(error), refused=error.is_refusal), error)


@dataclass
class _Run:
    """The steps of one run."""

    choice: Choice
    problem: Problem
    mask: Mask
    samples: np.ndarray
    backend: Backend
    plan: SamplingPlan
    checkpoint: Checkpoint
    seed: int
    host_out: np.ndarray | None
    layout: Layout
    verifier: Verifier

    def outcome(self, result: RunResult) -> Outcome:
        variant, backend = self.choice.variant, self.backend
        refuse_unsuitable(variant, self.problem, self.mask, self.choice.block, backend.info)
        refuse_strange_samples(variant, self.samples)
        backend.activate()
        self._step("compiling", 0.0, 2.0)
        prepared, compile_ms = timed(lambda: variant.prepare(self.problem, self.mask, self.choice.block))
        buffers, allocate_ms = timed(
            lambda: backend.allocate(self.samples, self.host_out, self.layout, self.problem.result_dtype)
        )
        backend.upload(self.samples, buffers)
        self._step("first launch", 0.1, expected_launch_s(self.choice, self.problem, backend.info))
        values, launch_ms, fault = run_on_poison(prepared, buffers, backend)
        verification = self._verify(values)
        if fault:
            verification = replace(verification, passed=False, reason=fault)
        work = variant.work(self.problem, self.choice.block)
        result = replace(result, verification=verification, work=work)
        if not verification.passed:
            return Outcome(values, result)
        if backend.info.times_mean_speed:
            timing = self._sample(prepared, buffers, launch_ms / 1e3)
            result = replace(result, timing=replace(timing, compile_ms=compile_ms, allocate_ms=allocate_ms))
        return Outcome(values, result)

    def _step(self, stage: str, fraction: float, expected_s: float) -> None:
        self.checkpoint(Step(stage, fraction, expected_s))

    def _verify(self, values: np.ndarray) -> Verification:
        def checkpoint(fraction: float) -> None:
            self._step("verifying against the float64 oracle", 0.2 + 0.4 * fraction, 2.0)

        return self.verifier(
            values,
            self.samples,
            self.mask,
            self.problem,
            seed=self.seed,
            checkpoint=checkpoint,
            added_error=self.choice.variant.added_error(self.problem, self.mask),
        )

    def _sample(self, prepared: Prepared, buffers: Buffers, launch_s: float) -> Timing:
        # Pageable memory is copied at 1 GB/s or more.
        copy_s = 0.1 + self.problem.samples * (self.problem.itemsize + self.problem.result_itemsize) / 1e9
        sampler = Sampler(self.backend, self.plan, self.checkpoint)
        return sampler.timing(
            prepared, buffers, lambda: self.backend.upload(self.samples, buffers), launch_s, copy_s
        )
