"""The cells of a benchmark: every variant on every size, mask and block, measured one after another."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from engine.api.filtering import Request
from engine.device.launches import DeviceKind
from engine.device.versions import commit, versions
from engine.device_info import Environment
from engine.errors import DeviceFault, EngineError
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.results.measurement import RunResult
from engine.run.grid_mask import GridMask
from engine.run.plan import SamplingPlan
from engine.run.resolve import describe_problem, result_dtype_for
from engine.variants.contract import Variant


@dataclass(frozen=True, slots=True)
class Way:
    """A variant with its block and with the layout of its rows."""

    variant: Variant
    block: Block
    layout: Layout


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a benchmark measures: the product of all lists.

    Parameters
    ----------
    variants : sequence of Variant
    sizes : sequence of (int, int)
        Pictures, width x height, pixels.
    masks : sequence of GridMask
    blocks : sequence of Block
        Empty: each variant's default. Variants without a block are measured once, not once a block.
    border : Border
    device : str
        For the CUDA variants; "auto" is the first one that works.
    channels : int
    dtype : str
    seed : int
        Of the pictures, the weights and the rectangles that are verified.
    budget_s : float
        Time for the samples of each cell, seconds.
    layouts : sequence of Layout
        Of the rows on a CUDA device. CPU variants, whose rows are always packed, are measured once.
    result_type : str
        One of `engine.tasks.filtering.problem.RESULT_TYPES`.
    """

    variants: Sequence[Variant]
    sizes: Sequence[tuple[int, int]]
    masks: Sequence[GridMask]
    blocks: Sequence[Block]
    border: Border
    device: str
    channels: int
    dtype: str
    seed: int
    budget_s: float
    layouts: Sequence[Layout] = (Layout.PITCHED,)
    result_type: str = "float32"

    def blocks_of(self, variant: Variant) -> Sequence[Block]:
        """Return the blocks that a variant is measured with."""
        return self.blocks if self.blocks and variant.uses_block else (variant.default_block,)

    def ways(self) -> Iterator["Way"]:
        """Yield the ways in which each problem is computed."""
        for variant in self.variants:
            for block in self.blocks_of(variant):
                for layout in self.layouts if variant.device is DeviceKind.CUDA else self.layouts[:1]:
                    yield Way(variant, block, layout)

    @property
    def cells(self) -> int:
        """How many results there will be."""
        return len(self.sizes) * len(self.masks) * sum(1 for _ in self.ways())

    def as_json(self) -> dict[str, Any]:
        """Return what is measured as plain data."""
        return {
            "variants": [variant.key for variant in self.variants],
            "sizes": [{"width": width, "height": height} for width, height in self.sizes],
            "masks": [
                {
                    "rows": cell.rows,
                    "columns": cell.columns,
                    "name": cell.weights(self.seed).name,
                    "weights": "random" if cell.named is None else cell.named.weights.tolist(),
                }
                for cell in self.masks
            ],
            "blocks": [asdict(block) for block in self.blocks],
            "layouts": [str(layout) for layout in self.layouts],
            "border": str(self.border),
            "device": self.device,
            "channels": self.channels,
            "dtype": self.dtype,
            "result_type": self.result_type,
            "seed": self.seed,
            "budget_s": self.budget_s,
        }

    def picture(self, width: int, height: int) -> np.ndarray:
        """Return a random picture: whole numbers of the full range, or float32 from 0 to 1."""
        random, shape = np.random.default_rng(self.seed), (height, width, self.channels)
        if self.dtype == "float32":
            return random.random(shape, np.float32)
        return random.integers(0, np.iinfo(self.dtype).max, shape, self.dtype, endpoint=True)


def measured(
    sweep: Sweep, on_result: Callable[[RunResult], None]
) -> tuple[list[RunResult], DeviceFault | None]:
    """Measure every cell.

    Parameters
    ----------
    sweep : Sweep
    on_result : callable of RunResult
        Called after each cell.

    Returns
    -------
    list of RunResult
        One a cell, in order of sizes, masks, variants, blocks, layouts; a failure is a result with its reason.
    DeviceFault or None
        If a device was lost on the way: the CUDA cells after it were not tried.
    """
    results: list[RunResult] = []
    fault: DeviceFault | None = None
    for width, height in sweep.sizes:
        picture = sweep.picture(width, height)
        for mask in (cell.weights(sweep.seed) for cell in sweep.masks):
            for way in sweep.ways():
                lost = fault if way.variant.device is DeviceKind.CUDA else None
                try:
                    result = _measure(sweep, picture, mask, way, lost)
                except DeviceFault as error:
                    fault = error
                    result = _failed(sweep, picture, mask, way, error)
                except MemoryError:
                    full = EngineError(
                        "Not enough memory", "the system gave no more", "Choose a smaller size."
                    )
                    result = _failed(sweep, picture, mask, way, full)
                except EngineError as error:
                    result = _failed(sweep, picture, mask, way, error)
                results.append(result)
                on_result(result)
    return results, fault


def _measure(sweep: Sweep, picture: np.ndarray, mask: Mask, way: Way, lost: DeviceFault | None) -> RunResult:
    if lost is not None:
        raise EngineError(
            "Not measured", f"the device was lost before ({lost.what}: {lost.why})", lost.remedy
        )
    request = Request(
        picture,
        mask,
        sweep.border,
        0.0,
        None,
        way.variant.key,
        way.block if way.variant.uses_block else None,
        sweep.device,
        flip=False,
        layout=way.layout,
        result=sweep.result_type,
    )
    return request.outcome(SamplingPlan(budget_s=sweep.budget_s), seed=sweep.seed).result


def _failed(sweep: Sweep, picture: np.ndarray, mask: Mask, way: Way, error: EngineError) -> RunResult:
    variant = way.variant
    device = "cpu" if variant.device is DeviceKind.CPU else sweep.device
    return RunResult(
        variant=variant.key,
        title=variant.title,
        device="cuda:0" if device == "auto" else device,
        problem=describe_problem(
            picture, mask, sweep.border, 0.0, result_dtype_for(sweep.result_type, picture, picture)
        ),
        mask_name=mask.name,
        weights_digest=mask.weights_digest,
        block=way.block if variant.uses_block else None,
        environment=Environment("", versions=versions(), commit=commit()),
        failure=str(error),
        refused=error.is_refusal,
        seed=sweep.seed,
        layout=str(way.layout) if variant.device is DeviceKind.CUDA else "",
    )
