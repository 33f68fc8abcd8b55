"""`Bank`: several masks that are applied to one picture in one launch."""

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.errors import MaskError
from engine.mask.mask import Mask


@dataclass(frozen=True)
class Bank:
    """At least one mask; all have one shape and one anchor, each may have its own offset. Raises MaskError.

    A smaller mask is not padded with zeros: 0 x NaN is NaN, so the zeros would spread NaN and infinity of a
    picture to pixels that the mask does not reach.
    """

    masks: tuple[Mask, ...]

    def __post_init__(self) -> None:
        what = "The masks cannot be applied at once"
        if not self.masks:
            raise MaskError(what, "there is none", "Give at least one mask.")
        first = self.masks[0]
        for number, mask in enumerate(self.masks[1:], start=2):
            if mask.shape != first.shape:
                raise MaskError(
                    what,
                    f"mask 1 has {first.rows} x {first.columns} cells and mask {number} has "
                    f"{mask.rows} x {mask.columns}",
                    "Write the smaller one with zeros around it (they spread NaN and infinity), or apply it "
                    "by itself.",
                )
            if mask.anchor != first.anchor:
                raise MaskError(
                    what,
                    f"mask 1 has its anchor at {first.anchor} and mask {number} at {mask.anchor}",
                    "Give them the same anchor, or apply them one after another.",
                )

    def __len__(self) -> int:
        return len(self.masks)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of every mask."""
        return self.masks[0].shape

    @property
    def anchor(self) -> tuple[int, int]:
        """(row, column) of the cell that lies on the pixel, in every mask."""
        return self.masks[0].anchor

    @property
    def name(self) -> str:
        """What results call the bank."""
        rows, columns = self.shape
        return f"bank of {len(self)}, {rows} x {columns}"

    @property
    def weights_digest(self) -> str:
        """Digest of all weights."""
        return hashlib.sha256("".join(mask.weights_digest for mask in self.masks).encode()).hexdigest()[:16]

    @property
    def weight_matrix(self) -> npt.NDArray[np.float32]:
        """W of shape (masks, rows x columns), float32: each mask is a row, its taps row after row."""
        return np.stack([mask.weights32.reshape(-1) for mask in self.masks])

    @property
    def offsets32(self) -> npt.NDArray[np.float32]:
        """The masks' offsets, float32."""
        return np.array([mask.offset for mask in self.masks], np.float32)

    def flipped(self) -> "Bank":
        """Return the bank with every mask, and its anchor, rotated by 180°."""
        return Bank(tuple(mask.flipped() for mask in self.masks))
