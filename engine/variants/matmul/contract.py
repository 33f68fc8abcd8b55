"""The contract of a way to multiply matrices: frozen data and small functions, as that of a filter. No Numba in here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from engine.device.launches import DeviceKind, Launch, Pass, Prepared
from engine.geometry.block import Block, Limits
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.tile import DEFAULT_TILE, TileRefusal
from engine.tasks.work import Work


@dataclass(frozen=True, slots=True)
class MatmulVariant:
    """One way to compute C = A B.

    Parameters
    ----------
    key : str
        Stable name; goes into files, scripts and results.
    title : str
        Name for people.
    device : DeviceKind
    idea : str
        One or two sentences: who loads what, and what that saves against the variant before.
    prepare : callable of (MatrixProduct, int) -> Prepared
        Compiles for a tile; `Prepared.launch` takes the pair (A, B) and C.
    roundings : callable of (MatrixProduct, int) -> int
        The most roundings that a product of two elements goes through on its way into C: what the bound counts with.
    plan : callable of (MatrixProduct, int) -> tuple of Launch
        The launches; empty on the CPU.
    work : callable of (MatrixProduct, int) -> Work, optional
        None where nobody can say what it does inside.
    unsupported : callable of (MatrixProduct, int, Limits) -> TileRefusal or None
        Why this variant cannot do that, or None. Never another algorithm instead.
    passes : callable of (MatrixProduct, int) -> tuple of Pass
        The kernels with their arguments, one a launch; empty on the CPU.
    default_tile : int
        What is used where nobody chose.
    uses_block : bool
        Whether the tile changes how the variant runs.
    """

    task: ClassVar[str] = MatrixProduct.task

    key: str
    title: str
    device: DeviceKind
    idea: str
    prepare: Callable[[MatrixProduct, int], Prepared]
    roundings: Callable[[MatrixProduct, int], int]
    plan: Callable[[MatrixProduct, int], tuple[Launch, ...]] = lambda product, tile: ()
    work: Callable[[MatrixProduct, int], Work] | None = None
    unsupported: Callable[[MatrixProduct, int, Limits], TileRefusal | None] = lambda product, tile, limits: (
        None
    )
    passes: Callable[[MatrixProduct, int], tuple[Pass, ...]] = lambda product, tile: ()
    default_tile: int = DEFAULT_TILE
    uses_block: bool = True

    @property
    def default_block(self) -> Block:
        """The block that is used where nobody chose."""
        return Block(self.default_tile, self.default_tile)
