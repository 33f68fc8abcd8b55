"""A request to filter, as it was made: mask, border, variant, block, device; all other descriptions hold one.

Nothing is resolved yet: "auto" may stand for a variant or a device, and the block may be illegal.
"""

from dataclasses import dataclass, fields
from typing import Any

from engine.device_info import AUTO
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.mask import Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """How to filter, whatever the mask."""

    border: Border = Border.ZERO
    cval: float = 0.0  # value of the cells outside for a constant border
    variant: str = AUTO  # key, or "auto"
    block: Block | None = None  # None: the variant's default
    device: str = AUTO  # "cpu", "cuda:0", ..., "simulator", or "auto": CUDA if there is one that works
    layout: Layout = Layout.PITCHED  # of the rows on a CUDA device
    # What the kernel writes: "float32", or "same": samples of the picture's type.
    result_type: str = "float32"

    @property
    def options(self) -> dict[str, Any]:
        """These options by name, to make another description of."""
        return {field.name: getattr(self, field.name) for field in fields(FilterOptions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRequest(FilterOptions):
    """What to filter by, and how; the mask is flipped and normalised already, and has its anchor."""

    mask: Mask
