"""The cells of a benchmark of filters: each combination of its lists, on random pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.run.sweep import ONE_LAYOUT, ways
from engine.run.task import Choice
from engine.work.filtering.request import FilterOptions
from engine.work.filtering.resolve import describe_problem, result_dtype_for
from engine.work.filtering.task import FilterJob, filter_job, random_mask
from engine.work.filtering.variants import Variant
from engine.work.pictures import random_picture


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSweep:
    """What a benchmark of filters measures: each combination of all lists, on random pictures."""

    options: FilterOptions  # border, device and type of the results; the lists say the rest
    variants: Sequence[Variant]
    sizes: Sequence[tuple[int, int]]  # pictures, width x height, pixels
    # A mask; or a shape, rows x columns, for one with random weights.
    masks: Sequence[Mask | tuple[int, int]]
    blocks: Sequence[Block] = ()
    layouts: Sequence[Layout] = ONE_LAYOUT
    channels: int = 1
    dtype: str = "float32"
    seed: int = 0  # of the pictures, the weights and the pixels that are verified
    budget_s: float = 0.5  # time for the samples of each cell, seconds

    @property
    def cells(self) -> int:
        """How many results there will be."""
        of_each = sum(1 for _ in ways(self.variants, self.blocks, self.layouts))
        return len(self.sizes) * len(self.masks) * of_each

    def as_json(self) -> dict[str, Any]:
        """Return what is measured as plain data."""
        return {
            "variants": [variant.key for variant in self.variants],
            "sizes": [{"width": width, "height": height} for width, height in self.sizes],
            "masks": [
                {
                    "rows": mask.rows,
                    "columns": mask.columns,
                    "name": mask.name,
                    "weights": mask.weights.tolist() if mask is asked else "random",
                }
                for asked, mask in zip(self.masks, self.known_masks, strict=True)
            ],
            "blocks": [asdict(block) for block in self.blocks],
            "layouts": [str(layout) for layout in self.layouts],
            "border": str(self.options.border),
            "device": self.options.device,
            "channels": self.channels,
            "dtype": self.dtype,
            "result_type": self.options.result_type,
            "seed": self.seed,
            "budget_s": self.budget_s,
        }

    @property
    def known_masks(self) -> list[Mask]:
        """Every mask, those with random weights too."""
        return [mask if isinstance(mask, Mask) else random_mask(*mask, self.seed) for mask in self.masks]

    def jobs(self) -> Iterator[FilterJob]:
        """Yield every job, in order of sizes, masks, variants, blocks, layouts."""
        for width, height in self.sizes:
            samples = random_picture((height, width, self.channels), self.dtype, self.seed)
            result_dtype = result_dtype_for(self.options.result_type, samples, samples)
            for mask in self.known_masks:
                problem = describe_problem(samples, mask, self.options.border, 0.0, result_dtype)
                for variant, block, layout in ways(self.variants, self.blocks, self.layouts):
                    choice = Choice(variant, block)
                    yield filter_job(choice, problem, mask, samples, layout=layout, seed=self.seed)
