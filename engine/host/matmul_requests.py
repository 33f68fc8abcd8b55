"""What the window asks about products of matrices. Plain data, no Numba."""

from dataclasses import dataclass
from typing import ClassVar

from engine.device_info import SIMULATOR
from engine.host.queue_policy import QueuePolicy
from engine.host.request import Request
from engine.tasks.product.problem import MatrixProduct


@dataclass(frozen=True, slots=True)
class CountMatmul(Request):
    """Ask what every way to multiply asks of memory, and whether it can run, at once. Reply: tuple of ProductResult.

    Parameters
    ----------
    product : MatrixProduct
    tiles : tuple of int
        A result each for every variant that has a tile.
    device : str
        "cuda:0", ..., "simulator", or "auto": CUDA if there is one that works.
    """

    product: MatrixProduct
    tiles: tuple[int, ...]
    device: str = "auto"
    queue: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class RunMatmul(Request):
    """Multiply in one way with one tile: verify, warm up, sample. Reply: ProductResult. Progress arrives on the way.

    Parameters
    ----------
    product : MatrixProduct
    variant : str
    tile : int, optional
        None: the variant's default, or it has none.
    device : str
    seed : int
        Of the matrices.
    budget_s : float
        Time to spend on samples, seconds.
    """

    product: MatrixProduct
    variant: str
    tile: int | None = None
    device: str = "auto"
    seed: int = 0
    budget_s: float = 0.5

    @property
    def wants_simulator(self) -> bool:
        """Whether it is for the simulator's process."""
        return self.device == SIMULATOR
