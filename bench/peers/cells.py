"""A cell: one filtering that every library is asked for. NumPy alone: peers' processes load this."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

KINDS = {
    "random": "random weights of full rank",
    "gaussian": "Gaussian, sigma a sixth of the side",
    "integer": "random whole weights over a power of two",
}


@dataclass(frozen=True)
class Cell:
    """One filtering: a picture of `height` x `width` x `channels`, `batch` of them, and a square mask."""

    height: int
    width: int
    mask_side: int  # Odd
    channels: int = 1  # Interleaved
    dtype: str = "float32"  # "float32" or "uint8"
    kind: str = "random"  # Kind of mask, a key of `KINDS`
    batch: int = 1  # Pictures of one run
    # "warm": the same buffers again and again; "cold": so many copies alternately that no cache keeps them
    cache: str = "warm"

    @property
    def key(self) -> str:
        """Name of the cell in files: stable, unique."""
        return (
            f"{self.height}x{self.width}x{self.channels} {self.dtype} {self.kind} "
            f"{self.mask_side}x{self.mask_side} batch {self.batch} {self.cache}"
        )

    @property
    def samples(self) -> int:
        """Samples of all pictures."""
        return self.height * self.width * self.channels * self.batch

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one run, computed directly."""
        return self.samples * self.mask_side**2

    @property
    def separable_multiply_adds(self) -> int:
        """Multiply-adds of one run in two passes."""
        return self.samples * 2 * self.mask_side

    @property
    def picture_bytes(self) -> int:
        """Bytes of all pictures; a result of the same type has as many."""
        return self.samples * np.dtype(self.dtype).itemsize

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Cell":
        return cls(**data)


@dataclass(frozen=True)
class CellMask:
    """The mask of a cell in every form that a library may want."""

    weights: np.ndarray  # What counts is their float32 rounding
    factor: np.ndarray | None = None  # `weights` is the outer product of this with itself
    divisor: int | None = None  # weights x divisor are whole numbers

    @property
    def weights32(self) -> np.ndarray:
        return self.weights.astype(np.float32)

    @property
    def whole(self) -> np.ndarray:
        """The weights times the divisor, int32."""
        assert self.divisor is not None
        return np.rint(self.weights * self.divisor).astype(np.int32)


def mask_of(cell: Cell) -> CellMask:
    """Return the cell's mask, always the same one."""
    side = cell.mask_side
    random = np.random.default_rng(side)
    if cell.kind == "gaussian":
        offset = np.arange(side) - side // 2
        factor = np.exp(-0.5 * (offset / (side / 6)) ** 2)
        factor /= factor.sum()
        return CellMask(np.outer(factor, factor), factor=factor)
    if cell.kind == "integer":
        # Positive, their sum at most 1: no library saturates or wraps, and rounding is all that may differ.
        whole = random.integers(0, 16, (side, side))
        divisor = 1 << int(whole.sum()).bit_length()
        return CellMask(whole / divisor, divisor=divisor)
    return CellMask((random.standard_normal((side, side)) / side).astype(np.float32).astype(np.float64))


def pictures_of(cell: Cell) -> np.ndarray:
    """Return the cell's pictures, (batch, H, W, C), always the same ones."""
    random = np.random.default_rng(0)
    shape = (cell.batch, cell.height, cell.width, cell.channels)
    if cell.dtype == "uint8":
        return random.integers(0, 256, shape, np.uint8)
    return random.random(shape, np.float32)
