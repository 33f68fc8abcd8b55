"""The two kinds of what `filter` and `batch` do, a mask or another operation: imported late."""

from typing import TYPE_CHECKING

from engine.commands.picture_filter import MaskFilter, PictureFilter
from engine.commands.picture_settings import PictureSettings
from engine.errors import BadValue
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask

if TYPE_CHECKING:
    from engine.commands.picture_run import PictureRun


def filter_for(settings: PictureSettings) -> PictureFilter:
    """Return what the settings ask for; refuse an unknown mask or operation."""
    if settings.mask is None:
        # Imported here because a mask does not need it.
        from engine.commands.operation_run import OperationFilter

        return OperationFilter(settings)
    return MaskFilter(settings, _changed(resolve_mask(settings.mask), settings))


def run_type(how: PictureFilter) -> "type[PictureRun]":
    """Return what filters an opened picture; the first call imports it, which takes 65 ms."""
    if isinstance(how, MaskFilter):
        from engine.commands.mask_run import MaskRun

        return MaskRun
    from engine.commands.operation_run import OperationRun

    return OperationRun


def _changed(mask: Mask, settings: PictureSettings) -> Mask:
    """Return a mask as the options change it; refuse two that contradict one another."""
    if settings.anchor is not None:
        mask = mask.with_anchor(settings.anchor)
    if settings.divisor is not None and settings.normalize:
        raise BadValue("--divisor with --normalize", "both divide the weights", "Give one of the two.")
    if settings.divisor is not None:
        mask = mask.divided_by(settings.divisor)
    if settings.normalize:
        mask = mask.normalised()
    return mask if settings.offset is None else mask.with_offset(settings.offset)
