"""A call with its arguments in all their forms, resolved: what `correlate` and the commands filter by."""

import numpy as np
from numpy.typing import ArrayLike

from engine.api.calls import Image, Options, as_array, as_block, as_device, as_number, check_choices
from engine.device.devices import backend
from engine.geometry.block import Layout, UnsupportedVariant, refuse_block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.task import compute
from engine.work.problem import as_samples
from engine.work.resolve import Resolved
from engine.work.steps import MaskStep, PictureRequest, one_step

MaskLike = Mask | ArrayLike | str


class PictureCall(Resolved):
    """A request for a picture, resolved and ready to run.

    `shape` is that of the picture as the caller passed it. An illegal picture, name, value or block raises an
    `EngineError`.
    """

    def __init__(self, image: Image, request: PictureRequest, patch: Image | None = None) -> None:
        array = as_array(image)
        self.shape = array.shape
        cells = None if patch is None else as_samples(as_array(patch))
        super().__init__(request, as_samples(array), array, cells)
        check_named(self)

    def filter(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return what the variant writes, unverified (but verified in the simulator).

        It lies in `out`, an array of the problem's `result_shape` and type, where one is passed and the
        device is one of this process.
        """
        return compute(self.job(), backend(self.device.key), out).reshape(self.problem.result_shape)


def check_named(resolved: Resolved) -> None:
    """Refuse an unknown device, and an illegal block also with a variant that ignores it."""
    request, device = resolved.request, resolved.device
    check_choices(request.variant, request.device)
    if request.block is not None and not resolved.choice.variant.uses_block:
        refusal = refuse_block(request.block, device.limits)
        if refusal is not None:
            raise UnsupportedVariant("The block cannot be used", refusal)


def request_of(mask: MaskLike, options: Options) -> PictureRequest:
    """Return a request from the arguments of a call in all their forms; an `EngineError` for illegal ones."""
    border, cval, anchor, variant, block, device, flip, layout, result = options
    wanted, edge, value = as_mask(mask, anchor), Border.named(border), as_number(cval)
    edge.refuse_unused(value)
    applied = wanted.flipped() if flip else wanted
    step = MaskStep(mask=applied, border=edge, cval=value, variant=variant, block=as_block(block))
    return one_step(step, device=as_device(device), layout=Layout.named(layout), result_type=result)


def as_mask(mask: MaskLike, anchor: tuple[int, int] | None) -> Mask:
    """Return a mask, with the anchor if one is given; an `EngineError` for an unknown name or a bad file."""
    if isinstance(mask, str):
        # Weights need no presets.
        from engine.mask.presets import resolve_mask

        mask = resolve_mask(mask)
    if not isinstance(mask, Mask):
        return Mask(mask, anchor)
    return mask if anchor is None else mask.with_anchor(anchor)
