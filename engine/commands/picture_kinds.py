"""What `filter` and `batch` do: a mask, another operation or a chain, whose module is imported late."""

from importlib import import_module
from typing import TYPE_CHECKING

from engine.commands.picture_settings import PictureSettings
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask

if TYPE_CHECKING:
    from engine.commands.picture_filter import AnyFilter


def mask_for(asked: PictureSettings) -> Mask | None:
    """Return the mask as the options change it, None for another operation; refuse an unknown one."""
    if asked.mask is None:
        return None
    mask = resolve_mask(asked.mask)
    if asked.anchor is not None:
        mask = mask.with_anchor(asked.anchor)
    if asked.divisor is not None:
        mask = mask.divided_by(asked.divisor)
    if asked.normalize:
        mask = mask.normalised()
    return mask if asked.offset is None else mask.with_offset(asked.offset)


def filter_for(asked: PictureSettings, mask: Mask | None) -> "AnyFilter":
    """Return what does what the settings ask for; the first call imports it, which takes 65 ms."""
    if mask is not None:
        from engine.commands.mask_filter import MaskFilter

        return MaskFilter(asked, mask)
    if asked.chain is not None:
        chained: AnyFilter = import_module("engine.commands.chain_filter").ChainFilter(asked)
        return chained
    from engine.commands.operation_filter import OperationFilter

    return OperationFilter(asked)
