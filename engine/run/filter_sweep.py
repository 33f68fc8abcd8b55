"""What a benchmark of filters measures: every variant on every size, mask, block and layout."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.device.launches import DeviceKind
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.run.filtering import FilterJob, filter_job, random_mask, random_picture
from engine.run.resolve import describe_problem, result_dtype_for
from engine.variants.auto.planner import Choice
from engine.variants.contract import Variant


@dataclass(frozen=True, slots=True)
class GridMask:
    """A mask of a benchmark.

    Parameters
    ----------
    rows, columns : int
    named : Mask, optional
        The mask that was asked for by name, called as it was written; None: random weights of that size.
    """

    rows: int
    columns: int
    named: Mask | None = None

    def weights(self, seed: int) -> Mask:
        """Return the mask."""
        return self.named or random_mask(self.rows, self.columns, seed)


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

    def jobs(self) -> Iterator[FilterJob]:
        """Yield every job on random pictures, in order of sizes, masks, variants, blocks, layouts."""
        for width, height in self.sizes:
            samples = random_picture((height, width, self.channels), self.dtype, self.seed)
            result_dtype = result_dtype_for(self.result_type, samples, samples)
            for mask in (cell.weights(self.seed) for cell in self.masks):
                problem = describe_problem(samples, mask, self.border, 0.0, result_dtype)
                for way in self.ways():
                    choice = Choice(way.variant, way.block)
                    yield filter_job(choice, problem, mask, samples, layout=way.layout, seed=self.seed)
