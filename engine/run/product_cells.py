"""The cells of a measurement: one way to multiply, with one tile, on one product; what is known of one without running it."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.device_info import DeviceInfo
from engine.errors import EngineError
from engine.results.measurement import ProductResult
from engine.run.measure_product import counted, device_for, refuse_unsuitable
from engine.tasks.product.problem import MatrixProduct
from engine.variants.matmul.contract import MatmulVariant


@dataclass(frozen=True, slots=True)
class Cell:
    """One way to multiply, with one tile, on one product."""

    product: MatrixProduct
    variant: MatmulVariant
    tile: int


def cells_of(
    products: Sequence[MatrixProduct], variants: Sequence[MatmulVariant], tiles: Sequence[int]
) -> list[Cell]:
    """Return every cell, in order of products, variants, tiles; a variant without a tile is one cell a product.

    Parameters
    ----------
    products : sequence of MatrixProduct
    variants : sequence of MatmulVariant
    tiles : sequence of int
        Empty: each variant's default.
    """
    return [
        Cell(product, variant, tile)
        for product in products
        for variant in variants
        for tile in (tiles if tiles and variant.uses_tile else (variant.default_tile,))
    ]


def device_of(cell: Cell, wanted: str) -> DeviceInfo | None:
    """Return the device that a cell would run on; None where there is none."""
    try:
        return device_for(cell.variant, wanted)
    except EngineError:
        return None


def counted_cell(cell: Cell, device: str, *, seed: int = 0) -> ProductResult:
    """Return what can be counted of a cell, and why it cannot run on a device where it cannot."""
    failure, refused = "", False
    try:
        refuse_unsuitable(cell.variant, cell.product, cell.tile, device_for(cell.variant, device))
    except EngineError as error:
        failure, refused = str(error), error.is_refusal
    known = device_of(cell, device)
    return counted(cell.variant, cell.product, cell.tile, known, seed=seed, failure=failure, refused=refused)
