"""The grid of `bench.auto` and `bench.cost_grid`: pictures, masks, and the time of one variant on one."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from engine.device.backend import Backend
from engine.device.launches import DeviceKind
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.costs import MANY, mask_side_of, repeated
from engine.variants.auto.planner import why_not
from engine.variants.contract import Growth, MaskClass, Variant
from engine.variants.digit_sums import digit_sums
from engine.variants.registry import VARIANTS

PICTURE_SIDES = (256, 512, 1024, 2048, 4096)
MASK_SIDES = (3, 5, 9, 15, 31)
CHANNELS = (1, 3)
# Cells outside the picture are some of its own, or ghosts; the others of each sort cost about the same.
BORDERS = (Border.MIRROR, Border.ZERO)
ROUNDS = 3
# Of a time that takes longer nothing is lost if it is taken from one launch.
LONGEST_MS = 200.0
# What the plain loops and the teaching kernels would take longer for is put down from a smaller picture.
TOO_LONG_MULTIPLY_ADDS = {
    "cpu-serial": 3e7, "cpu-separable-serial": 3e7, "cpu": 2e10, "tiled-input": 4e9, "constant": 2e10,
    "naive-uncoalesced": 2e10, "cuda": 3e11,
}  # fmt: skip
MASK_KINDS = ("gaussian", "sobel", "random", "box")
COST_KINDS = ("box", "row", "rank 2", "rank 3", "one digit", "many digits")
"""Masks that the costs are measured with: `cost_rows` says which of them for which variant."""
# Types of picture and result.
TYPES = (("uint8", "float32"), ("uint8", "uint8"), ("uint16", "float32"), ("float32", "float32"))


def gaussian(side: int) -> np.ndarray:
    """Return a column times a row, whose weights add up to about 1."""
    row = np.exp(-0.5 * (np.arange(side) - (side - 1) / 2) ** 2 / (side / 5) ** 2)
    return np.outer(row, row) / row.sum() ** 2


def mask_of(kind: str, side: int) -> Mask:
    """Return a mask: of rank 1 with whole or broken weights, rank 2 or 3, no structure, one row, or even."""
    if kind == "gaussian":
        return Mask(gaussian(side), name=f"gaussian {side}")
    if kind == "sobel":
        row = np.arange(side) - side // 2
        return Mask(np.outer(1 + side // 2 - np.abs(row), row), name=f"sobel-like {side}")
    if kind == "row":
        return Mask(np.ones((1, side)), name=f"row of {side}")
    if kind.startswith("rank"):
        random = np.random.default_rng(side)
        products = [np.outer(*random.random((2, side))) for _ in range(int(kind[-1]))]
        return Mask(np.sum(products, axis=0) / side**2, name=f"{kind}, {side}")
    if kind == "one digit":
        return Mask(np.ones((side, side)), name=f"ones {side}")
    if kind == "many digits":
        return many_digits(side)
    if kind == "random":
        return Mask(np.random.default_rng(side).standard_normal((side, side)), name=f"random {side}")
    return Mask(np.ones((side, side)) / side**2, name=f"box {side}")


def many_digits(side: int) -> Mask:
    """Return a random mask with whose weights `digit-sums` has its inner work done MANY times."""
    masks = (np.random.default_rng(seed).standard_normal((side, side)) for seed in count())
    return next(mask for mask in map(Mask, masks) if digit_sums.VARIANT.repeats_of(mask) == MANY)


def cost_rows(known: Variant) -> dict[str, str]:
    """Return which rows a variant has in the cost table, by the kind of mask."""
    if known.repeats is not None:
        return {"one digit": known.key, "many digits": repeated(known.key)}
    if known.rank > 1:
        return {f"rank {known.rank}": known.key}
    return {"row" if known.masks is MaskClass.ONE_ROW else "box": known.key}


def border_counts(known: Variant) -> bool:
    """Return whether a variant's time depends on the border: of those that load tiles by vectors."""
    return known.device is DeviceKind.CUDA and not known.uses_block


def picture_of(dtype: str, side: int, channels: int) -> np.ndarray:
    """Return a random picture."""
    random = np.random.default_rng(side)
    if dtype == "float32":
        return random.random((side, side, channels), np.float32)
    return random.integers(0, np.iinfo(dtype).max, (side, side, channels), dtype, endpoint=True)


def able(problem: Problem, mask: Mask, machine: Backend) -> Iterator[Variant]:
    """Yield the variants of a device that can do a problem."""
    for known in VARIANTS:
        is_for_it = known.device.value == machine.info.kind
        if is_for_it and why_not(known, problem, mask, known.default_block, machine.info.limits) is None:
            yield known


def time_ms(
    known: Variant, problem: Problem, mask: Mask, samples: np.ndarray, machine: Backend
) -> list[float]:
    """Return `ROUNDS` times of one variant."""
    machine.activate()
    prepared = known.prepare(problem, mask, known.default_block)
    buffers = machine.allocate(samples, result_dtype=problem.result_dtype)
    machine.upload(samples, buffers)
    machine.run(prepared, buffers)
    clock = machine.clock(prepared, buffers)
    try:
        first = clock.sample_ms()
        return [first] if first > LONGEST_MS else [first, *(clock.sample_ms() for _ in range(4 * ROUNDS))]
    finally:
        clock.close()


def best_ms(
    known: Variant, problem: Problem, mask: Mask, samples: np.ndarray, machine: Backend
) -> float | None:
    """Return the shortest time of one variant (what else runs only ever adds); None where it fails."""
    try:
        return min(time_ms(known, problem, mask, samples, machine))
    except EngineError as error:
        print(f"{known.key}: {error}", flush=True)
        return None


def is_too_long(known: Variant, problem: Problem) -> bool:
    """Return whether a variant would hold everything up."""
    limit = TOO_LONG_MULTIPLY_ADDS.get(known.key, TOO_LONG_MULTIPLY_ADDS[known.device.value])
    if known.grows_with is Growth.NOTHING:
        return False
    side = mask_side_of(known, problem)
    per_result = 4 * side if known.grows_with is Growth.SIDES else side**2
    return problem.samples * per_result > limit
