"""The launches that a kernel is judged by: sizes, masks with all cells different, fresh random pictures.

What is right is the oracle of filters in float64, and the bound of what rounding to float32 may change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import Border
from engine.judging.source import JudgedKernel, NotJudged
from engine.mask.mask import Mask
from engine.ptx import Array, PtxError, Run, run
from engine.work.filtering.agreement import rounding_bound
from engine.work.filtering.oracle import correlate, magnitudes

# Width and height: none is a multiple of a block, edges in every block but one, a row, a column, a pixel.
QUICK_SIZES = ((67, 33), (1, 1), (37, 18), (48, 32))
FULL_SIZES = (*QUICK_SIZES, (1, 40), (53, 1), (2, 2), (31, 31), (33, 65), (64, 64), (16, 5), (7, 29))
QUICK_MASKS = ((5, 3), (3, 3), (9, 7), (3, 5))
FULL_MASKS = (*QUICK_MASKS, (1, 1), (1, 9), (9, 1), (5, 5), (7, 7), (9, 9))
# Rounded or cut to a whole number, a byte lies less than this from the exact value.
BYTE_STEP = 1.0
# A launch that takes longer than this has no end, or is no launch for a person who waits.
MOST_S = 10.0


@dataclass(frozen=True)
class Trial:
    """One launch to make."""

    width: int
    height: int
    mask_width: int
    mask_height: int
    channels: int
    seed: int

    def __str__(self) -> str:
        channels = f" with {self.channels} channels" if self.channels > 1 else ""
        return f"{self.width} × {self.height}{channels}, mask {self.mask_width} × {self.mask_height}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a launch: which values are wrong or missing, and what the interpreter found."""

    trial: Trial
    run: Run
    out: Array
    wanted: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    unwritten: NDArray[np.bool_]


def trials(kernel: JudgedKernel, *, full: bool, seed: int) -> list[Trial]:
    """Return the launches of a quick or a full judgement."""
    sizes = FULL_SIZES if full else QUICK_SIZES
    masks: tuple[tuple[int, int], ...] = FULL_MASKS if full else QUICK_MASKS
    if kernel.header.mask is not None or "mask" not in kernel.parameters:
        masks = (kernel.header.mask or (3, 3),)
    channels = (1, 3) if "channels" in kernel.parameters else (1,)
    return [
        Trial(width, height, *masks[number % len(masks)], channels[number % len(channels)], seed + number)
        for number, (width, height) in enumerate(sizes)
    ]


def outcome_of(kernel: JudgedKernel, trial: Trial, checkpoint: Callable[[float], None]) -> Outcome:
    """Launch a kernel once and compare its result; raises NotJudged for what is not interpreted."""
    random = np.random.default_rng(trial.seed)
    shape = (trial.height, trial.width, trial.channels)
    image = random.integers(0, 256, shape).astype(kernel.dtype)
    if kernel.dtype == "float32":
        image = (random.random(shape) * 255).astype(np.float32)
    mask = _mask(trial, random, positive=kernel.result_dtype == "uint8")
    border_value = (
        float(np.float32(random.uniform(1, 99))) if kernel.header.border is Border.CONSTANT else 0.0
    )
    # NaN, and of bytes any: unlike what is right, so that nothing unwritten seems right.
    out = Array(
        "out", np.full(shape, np.nan if kernel.result_dtype == "float32" else 0xA5, kernel.result_dtype), True
    )
    result = _launched(kernel, trial, image, mask, out, border_value, checkpoint)
    wanted = correlate(image, mask, kernel.header.border, border_value)
    bound = rounding_bound(magnitudes(image, mask, kernel.header.border, border_value), mask.weights32.size)
    if kernel.result_dtype == "uint8":
        wanted, bound = np.clip(wanted, 0, 255), bound + BYTE_STEP
    written = result.written(out)
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(out.values.astype(np.float64) - wanted) <= bound)
    return Outcome(trial, result, out, wanted, wrong, ~written)


def _mask(trial: Trial, random: np.random.Generator, *, positive: bool) -> Mask:
    """Return a mask of which no two cells are alike; one whose sums often leave a byte on both sides."""
    cells = trial.mask_width * trial.mask_height
    weights = (random.permutation(cells) + 1.0) / cells * np.where(random.random(cells) < 0.3, -1, 1)
    if positive:
        # Sums of bytes that are mostly within a byte, and sometimes above and below.
        weights *= 1.6 / max(abs(weights.sum()), 0.25 * np.abs(weights).sum())
    return Mask(weights.reshape(trial.mask_height, trial.mask_width).astype(np.float32).astype(np.float64))


def _launched(
    kernel: JudgedKernel,
    trial: Trial,
    image: np.ndarray,
    mask: Mask,
    out: Array,
    border_value: float,
    checkpoint: Callable[[float], None],
) -> Run:
    given: dict[str, Any] = {
        "image": Array("image", image),
        "mask": Array("mask", np.ascontiguousarray(mask.weights32)),
        "out": out,
        "width": trial.width,
        "height": trial.height,
        "mask_width": trial.mask_width,
        "mask_height": trial.mask_height,
        "channels": trial.channels,
        "border_value": border_value,
    }
    arguments: list[Any] = []
    for name in kernel.parameters:
        one = given[name]
        if kernel.is_numba and isinstance(one, Array):
            values = one.values[..., 0] if one.values.ndim == 3 else one.values
            arguments += [
                0,
                0,
                values.size,
                values.itemsize,
                one,
                *values.shape,
                values.shape[1] * values.itemsize,
            ]
            arguments.append(values.itemsize)
        else:
            arguments.append(one)
    across, down = kernel.header.block_results
    grid = -(-trial.width // across), -(-trial.height // down)
    try:
        return run(
            kernel.ptx,
            kernel.entry or None,
            grid,
            kernel.header.block,
            arguments,
            dynamic_shared=kernel.header.shared,
            checkpoint=checkpoint,
        )
    except PtxError as error:
        raise NotJudged(error.what, error.why, error.remedy, error.line) from error
