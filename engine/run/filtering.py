"""The task of filtering, as the pipeline asks it: one mask, or a bank of masks in one launch."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.devices import SIMULATOR_SIDE
from engine.device.launches import DeviceKind, Prepared
from engine.device_info import SIMULATOR, DeviceInfo
from engine.errors import BadValue, UnsupportedVariant
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.mask.bank import Bank
from engine.mask.mask import Mask
from engine.run.bank import verify_bank
from engine.run.device_choice import refuse_other_kind
from engine.run.job import Job
from engine.tasks.contract import Task
from engine.tasks.filtering.agreement import AFFORDABLE_MULTIPLY_ADDS, verify
from engine.tasks.filtering.problem import Problem
from engine.tasks.work import Work
from engine.variants.auto.planner import Choice
from engine.variants.auto.suitability import why_not
from engine.variants.contract import Variant, refuse_samples
from engine.variants.ladder.implicit_gemm import for_bank
from engine.variants.registry import variant
from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True)
class FilterOperands:
    """A picture with what it is filtered by.

    Parameters
    ----------
    samples : ndarray of shape (H, W, C), of the problem's dtype
    mask : Mask
        Of a bank the first one.
    layout : Layout
        Of the rows on a CUDA device.
    bank : Bank, optional
        Several masks, whose results a variant made for them (`for_bank`) writes one below the other.
    """

    samples: np.ndarray
    mask: Mask
    layout: Layout = Layout.PITCHED
    bank: Bank | None = None


FilterJob = Job[Problem, FilterOperands, Variant]


class Filtering(Task[Problem, FilterOperands, Variant]):
    """Correlation of a picture with a mask, or with each mask of a bank."""

    def variant(self, key: str, operands: FilterOperands) -> Variant:
        """Return the variant of that key, for a bank the one that is made for it."""
        return variant(key) if operands.bank is None else for_bank(operands.bank)

    def random_operands(self, problem: Problem, seed: int) -> FilterOperands:
        """Return a random picture, and a mask of random weights."""
        shape = problem.height, problem.width, problem.channels
        mask = random_mask(*problem.mask_shape, seed).with_anchor(problem.anchor)
        return FilterOperands(random_picture(shape, problem.dtype, seed), mask)

    def refuse(
        self, variant: Variant, problem: Problem, operands: FilterOperands, block: Block, device: DeviceInfo
    ) -> None:
        """Refuse what a variant cannot do on a device, with these very samples."""
        refuse_unsuitable(variant, problem, operands.mask, block, device)
        refuse_strange_samples(variant, operands.samples)

    def expected_launch_s(
        self, variant: Variant, problem: Problem, block: Block, device: DeviceInfo
    ) -> float:
        """Estimate one launch, seconds.

        The plain loops on one core make about 0.3 G multiply-adds a second, the plain kernel on a small GPU
        10 G, the simulator 0.1 M. There, a thread that only loads costs as much as one that computes (its
        start and its barriers take about 1 ms), and a block may have twenty such threads for each result:
        `implicit-gemm` with one mask in a block of 20 x 20 takes ten times as long as `tiled`.
        """
        if device.key != SIMULATOR:
            return 0.5 + problem.multiply_adds / (1e10 if device.kind == "cuda" else 3e8)
        launches = variant.plan(problem, block)
        threads = sum(launch.blocks * math.prod(launch.block) for launch in launches)
        rows, columns = problem.mask_shape
        return 0.5 + max(problem.multiply_adds, threads * rows * columns) / 1e5 + threads / 1e3

    def prepare(self, variant: Variant, problem: Problem, operands: FilterOperands, block: Block) -> Prepared:
        """Compile for the problem and upload the mask."""
        return variant.prepare(problem, operands.mask, block)

    def allocate(
        self, backend: Backend, problem: Problem, operands: FilterOperands, host_out: Any = None
    ) -> Buffers:
        """Return buffers for the picture and the result, or the results of a bank."""
        samples = operands.samples
        if operands.bank is not None:
            height, width, channels = samples.shape
            host_out = np.empty((len(operands.bank) * height, width, channels), np.float32)
        return backend.allocate(samples, host_out, operands.layout, problem.result_dtype)

    def upload(self, backend: Backend, operands: FilterOperands, buffers: Buffers) -> None:
        """Copy the picture to the device."""
        backend.upload(operands.samples, buffers)

    def verify(
        self,
        values: Any,
        variant: Variant,
        problem: Problem,
        operands: FilterOperands,
        block: Block,
        *,
        seed: int,
        affordable: int | None,
        checkpoint: Callable[[float], None],
    ) -> Verification:
        """Compare with the oracle, of a bank every result."""
        error = variant.added_error(problem, operands.mask)
        if operands.bank is not None:
            return verify_bank(
                values,
                operands.samples,
                operands.bank,
                problem,
                seed=seed,
                affordable=affordable,
                checkpoint=checkpoint,
                added_error=error,
            )
        return verify(
            values,
            operands.samples,
            operands.mask,
            problem,
            seed=seed,
            affordable=AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable,
            checkpoint=checkpoint,
            added_error=error,
        )

    def work(self, variant: Variant, problem: Problem, block: Block) -> Work:
        """Return the variant's own model of work."""
        return variant.work(problem, block)

    def copied_bytes(self, problem: Problem) -> int:
        """Return the bytes of the picture and of the result."""
        return problem.samples * (problem.itemsize + problem.result_itemsize)

    def labels(self, operands: FilterOperands, device_kind: str) -> dict[str, Any]:
        """Return the mask's name and weights, and the layout where rows can lie one way or another."""
        masks = operands.bank or operands.mask
        return {
            "mask_name": masks.name or "custom",
            "weights_digest": masks.weights_digest,
            "layout": str(operands.layout) if device_kind == DeviceKind.CUDA else "",
        }

    def result(self, values: Any, operands: FilterOperands) -> Any:
        """Return the results of a bank one after another, along a first axis."""
        if operands.bank is None:
            return values
        return values.reshape(len(operands.bank), *operands.samples.shape)


FILTERING = Filtering()


def filter_job(
    choice: Choice,
    problem: Problem,
    mask: Mask,
    samples: np.ndarray,
    *,
    layout: Layout = Layout.PITCHED,
    seed: int = 0,
) -> FilterJob:
    """Return the job of filtering `samples` (H x W x C, of the problem's dtype) with one mask."""
    operands = FilterOperands(samples, mask, layout)
    return Job(FILTERING, choice.variant, choice.block, problem, operands, choice.reason, seed)


def bank_job(
    bank: Bank,
    problem: Problem,
    samples: np.ndarray,
    *,
    chosen: Variant | None = None,
    block: Block | None = None,
    layout: Layout = Layout.PITCHED,
    seed: int = 0,
    affordable: int | None = None,
) -> FilterJob:
    """Return the job of applying all masks of a bank to one picture in one launch.

    Parameters
    ----------
    bank : Bank
    problem : Problem
        Of one of the masks.
    samples : ndarray of shape (H, W, C), of the problem's dtype
    chosen : Variant, optional
        Another variant that writes the results one below the other; None: `for_bank` of the bank.
    block : Block, optional
        None: the variant's default.
    layout : Layout
    seed : int
    affordable : int, optional
        Multiply-adds that the oracle may spend on each mask. None: on all together what it may spend on one
        filter, so that the proof of 32 masks keeps nobody waiting for a minute.
    """
    used = chosen or for_bank(bank)
    operands = FilterOperands(samples, bank.masks[0], layout, bank)
    return Job(
        FILTERING, used, block or used.default_block, problem, operands, seed=seed, affordable=affordable
    )


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
    refuse_other_kind(variant, device)
    if device.key == SIMULATOR and max(problem.height, problem.width) > SIMULATOR_SIDE:
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


def random_picture(shape: tuple[int, int, int], dtype: str, seed: int) -> np.ndarray:
    """Return a random picture: whole numbers of the full range, or float32 from 0 to 1."""
    random = np.random.default_rng(seed)
    if dtype == "float32":
        return random.random(shape, np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def random_mask(rows: int, columns: int, seed: int) -> Mask:
    """Return random weights of which none are special: no zeros, no symmetry, not separable."""
    random = np.random.default_rng(seed).uniform(0.5, 1.5, (rows, columns))
    return Mask(random / (rows * columns), name=f"random {rows} x {columns}")
