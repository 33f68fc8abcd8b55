"""How strips that a warp streams down cover a picture: height, launch, loads. Pure integers."""

from dataclasses import dataclass

from engine.device.launches import Launch
from engine.tasks.filtering.problem import Problem
from engine.variants.ladder.geometry import blocks_along, loads_of_tiles
from engine.variants.strips.strip_shape import LANES, STRIP_SAMPLES, StripShape

LEAST_STRIP_ROWS = 8


@dataclass(frozen=True, slots=True)
class StripGrid:
    """The strips of a picture: as high as leaves it `most_warps` warps."""

    problem: Problem
    shape: StripShape
    most_warps: int

    @property
    def across(self) -> int:
        """Strips side by side."""
        return blocks_along(self.problem.width * self.problem.channels, STRIP_SAMPLES)

    @property
    def rows(self) -> int:
        """Rows of results of a strip, in whole groups of input rows.

        In small pictures a strip has at least half of the rows that its warp filters besides.
        """
        shape, bands = self.shape, max(1, self.most_warps // self.across)
        rows = max(blocks_along(self.problem.height, bands), LEAST_STRIP_ROWS, (shape.mask_rows - 1) // 2)
        return shape.groups(rows) * shape.group_rows - (shape.mask_rows - 1)

    def launch(self, constant_bytes: int = 0) -> Launch:
        """Return the launch: a warp per strip, up to `shape.warps` side by side in a block."""
        warps = min(self.across, self.shape.warps)
        grid = (blocks_along(self.across, warps), blocks_along(self.problem.height, self.rows), 1)
        return Launch(grid, (LANES, warps, 1), self.shape.shared_bytes, constant_bytes)

    @property
    def groups(self) -> list[int]:
        """The groups of input rows of each strip, from the top of the picture down."""
        height, rows = self.problem.height, self.rows
        return [self.shape.groups(min(rows, height - top)) for top in range(0, height, rows)]

    @property
    def input_rows(self) -> int:
        """The input rows of all strips below one another."""
        return sum(self.groups) * self.shape.group_rows

    @property
    def loads(self) -> int:
        """The elements of the picture that all strips load."""
        shape, rows = self.shape, self.rows
        lefts = [strip * STRIP_SAMPLES - shape.along.before for strip in range(self.across)]
        bands = [
            (band * rows - self.problem.anchor[0], groups * shape.group_rows)
            for band, groups in enumerate(self.groups)
        ]
        return loads_of_tiles(self.problem, lefts, shape.along.tile_samples, bands)
