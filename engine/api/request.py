"""A call with its arguments in all their forms, resolved: what `correlate` and the commands filter by."""

from numpy.typing import ArrayLike

from engine.api.arguments import BlockLike, Image, as_array, as_block, as_device, as_number
from engine.api.calls import Call, check_block, check_choices
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.work.filtering.request import FilterRequest
from engine.work.filtering.resolve import ResolvedFilter
from engine.work.pictures import as_samples

MaskLike = Mask | ArrayLike | str


class Request(ResolvedFilter, Call):
    """One call, resolved; parameters as for `apply`, in all their forms.

    `mask` is the one to correlate with: already flipped for a convolution. `shape` is that of the picture as
    it was given. An illegal picture, mask, name, value or block raises an `EngineError`.
    """

    def __init__(
        self,
        image: Image,
        mask: MaskLike,
        border: str | Border,
        cval: float,
        anchor: tuple[int, int] | None,
        key: str,
        block: BlockLike | None,
        device: str | None,
        *,
        flip: bool,
        layout: str | Layout = Layout.PITCHED,
        result: str = "float32",
    ) -> None:
        array = as_array(image)
        self.shape = array.shape
        samples = as_samples(array)
        asked = request_of(mask, border, cval, anchor, key, block, device, flip, layout, result)
        self.mask = asked.mask
        super().__init__(asked, samples, array)
        check_choices(key, asked.device)
        if asked.block is not None:
            check_block(asked.block, self.choice.variant, self.device)
        self.result_shape = samples.shape


def request_of(
    mask: MaskLike,
    border: str | Border,
    cval: float,
    anchor: tuple[int, int] | None,
    variant: str,
    block: BlockLike | None,
    device: str | None,
    flip: bool,
    layout: str | Layout,
    result: str,
) -> FilterRequest:
    """Return a request from the arguments of a call in all their forms; an `EngineError` for illegal ones."""
    wanted, edge, value = as_mask(mask, anchor), Border.named(border), as_number(cval)
    edge.refuse_unused(value)
    return FilterRequest(
        mask=wanted.flipped() if flip else wanted,
        border=edge,
        cval=value,
        variant=variant,
        block=as_block(block),
        device=as_device(device),
        layout=Layout.named(layout),
        result_type=result,
    )


def as_mask(mask: MaskLike, anchor: tuple[int, int] | None) -> Mask:
    """Return a mask, with the anchor if one is given; an `EngineError` for an unknown name or a bad file."""
    if isinstance(mask, str):
        # Weights need no presets.
        from engine.mask.resolve import resolve_mask

        mask = resolve_mask(mask)
    if not isinstance(mask, Mask):
        return Mask(mask, anchor)
    return mask if anchor is None else mask.with_anchor(anchor)
