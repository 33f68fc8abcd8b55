"""The page Matrices without widgets: the product, a row for each variant and tile, and what runs them."""

from dataclasses import dataclass, replace
from typing import Annotated

import msgspec

from engine.course.paper import CourseKernel
from engine.device_info import AUTO, SIMULATOR
from engine.host.request import Run
from engine.results.columns import KERNEL
from engine.tasks.product.columns import variant_name
from engine.tasks.product.problem import (
    LARGEST_TILE,
    SMALLEST_TILE,
    MatrixProduct,
    ProductGrid,
    ProductRequest,
    ProductResult,
    tile_of,
)
from gui.page.jobs import Job
from gui.page.runs_page import RunsController
from gui.runs.state import RunsState
from gui.typed_json import Reading, Table

# Three matrices of this side take 0.8 GB, and NumPy's float64 verifies a part of them within seconds.
LARGEST_SIDE = 8192
# The simulator does these at once.
SMALL_SIDE, SMALL_TILES = 16, (2, 4, 8)
_FIRST_PRODUCT = MatrixProduct(1024, 1024, 1024)

_Side = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_SIDE)]
_Tile = Annotated[int, msgspec.Meta(ge=SMALLEST_TILE, le=LARGEST_TILE)]
# What a session keeps beside the runs.
_PART = {
    "product": tuple[_Side, _Side, _Side],
    "square": bool,
    "tiles": Annotated[list[_Tile], msgspec.Meta(min_length=1, max_length=LARGEST_TILE)],
    "device": str,
}
_SIDES = "rows", "inner", "columns"
Cell = tuple[str, int | None]
"""The key of a variant, and its tile."""


@dataclass(frozen=True, slots=True)
class MatmulSettings:
    """The product, the tiles and the device; where it is `square`, all sides follow the rows."""

    product: MatrixProduct = _FIRST_PRODUCT
    square: bool = True
    tiles: tuple[int, ...] = (4, 8, 16, 32)
    device: str = AUTO

    @property
    def problem(self) -> MatrixProduct:
        """What is computed."""
        return self.product


class MatmulState(RunsState[MatmulSettings]):
    """Settings, and a row for each variant with each tile."""

    def __init__(self) -> None:
        super().__init__(MatmulSettings(), "numpy", ("variant", "tile", KERNEL))
        self.loaded: Cell | None = None
        self.settings_changed.connect(lambda: self._load(None))

    def key_of(self, result: ProductResult) -> Cell:
        return result.variant, tile_of(result)

    def legal(self, settings: MatmulSettings) -> MatmulSettings:
        side = settings.product.rows
        return replace(settings, product=MatrixProduct(side, side, side)) if settings.square else settings

    def load(self, variant: str, tile: int) -> None:
        """Choose the tile of a paper's kernel alone, and mark that kernel until something else is chosen."""
        self.change(tiles=(tile,))
        self._load((variant, tile))

    def try_small(self) -> None:
        """Choose a product that the simulator does at once."""
        small = MatrixProduct(SMALL_SIDE, SMALL_SIDE, SMALL_SIDE)
        self.change(product=small, tiles=SMALL_TILES, device=SIMULATOR)

    def is_marked(self, row: ProductResult) -> bool:
        return self.key_of(row) == self.loaded

    def own_part(self) -> Table:
        settings = self.settings
        sides = [getattr(settings.product, side) for side in _SIDES]
        parts = {"square": settings.square, "tiles": settings.tiles, "device": settings.device}
        return {"product": sides, **parts}

    def take_own_part(self, part: Table, reading: Reading) -> None:
        fields = reading.fields(part, _PART)
        if "product" in fields:
            fields["product"] = MatrixProduct(*fields["product"])
        if "tiles" in fields:
            fields["tiles"] = tuple(sorted(set(fields["tiles"])))
        self.change(**fields)
        return

    def _load(self, loaded: Cell | None) -> None:
        if loaded != self.loaded:
            self.loaded = loaded
            self.mark()


class MatmulController(RunsController[MatmulState]):
    """Counts and runs the products of the page Matrices."""

    source = "products"
    looking = "Counting what can run here"

    def _load(self, kernel: CourseKernel) -> None:
        # Its tile alone, its rows marked.
        if kernel.block is not None:
            self._runs.load(kernel.variant, kernel.block.x)

    def _list_request(self) -> ProductGrid:
        settings = self._runs.settings
        return ProductGrid(settings.product, settings.tiles, settings.device)

    def _run_of(self, cell: ProductResult) -> Job:
        # NumPy runs on the CPU, in the real host, whatever device is chosen.
        device = "auto" if tile_of(cell) is None else self._runs.settings.device
        name = variant_name(cell)
        return Job(
            f"{name}, tile {tile_of(cell)}" if tile_of(cell) else name,
            Run(ProductRequest(cell.problem, cell.variant, tile_of(cell), device)),
            self._runs.add,
            lambda error: self._runs.add(replace(cell, failure=error.failure)),
        )
