"""`apply_bank`: several masks applied to one picture in one launch."""

from collections.abc import Iterable

from engine.api.filtering import Applied, BlockLike, MaskLike, Request, as_applied, as_mask
from engine.device_info import AUTO, SIMULATOR_SIDE
from engine.errors import BadValue, DeviceUnavailable
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host.executor import executor_for
from engine.mask.bank import Bank
from engine.mask.mask import Mask
from engine.run.arguments import Image
from engine.run.executor import outcome_of
from engine.run.job import bank_job
from engine.run.sampling import SamplingPlan
from engine.variants.ladder import implicit_gemm


def apply_bank(
    image: Image,
    masks: Iterable[MaskLike],
    *,
    border: str | Border = "zero",
    cval: float = 0.0,
    anchor: tuple[int, int] | None = None,
    block: BlockLike | None = None,
    device: str | None = None,
    flip: bool = False,
    budget_s: float = 0.5,
    layout: str | Layout = Layout.PITCHED,
) -> Applied:
    """Apply several masks to one picture in one launch of `implicit-gemm`, verified and timed.

    Parameters
    ----------
    image, border, cval, anchor, device, layout
        As for `engine.correlate`; the device has to be a CUDA device or the simulator.
    masks : iterable of Mask, array of shape (rows, columns), or str
        All of one shape, with the same anchor.
    block : (int, int), Block or str, optional
        (x, y): x pixels by y masks at once. None: up to 8 masks at once, and 512 threads at most.
    flip : bool
        Convolution instead of correlation.
    budget_s : float
        Time to spend on samples, seconds.

    Returns
    -------
    Applied
        `values` has one result per mask, shape (masks, H, W) or (masks, H, W, C). `result` describes the one
        launch: its `kernel_ms` is the time of all masks together.

    Raises
    ------
    MaskError
        No mask, or masks of different shapes or anchors.
    DeviceUnavailable
        No CUDA device; there is no CPU variant for a bank.
    VerificationFailed
        A result is further from the oracle than rounding explains; the message says of which mask.
    EngineError
        Anything else.

    Examples
    --------
    >>> import engine, numpy
    >>> applied = engine.apply_bank(numpy.eye(3), [[[1, 2, 3]], [[0, 1, 0]]], device="simulator")
    >>> applied.values[0]
    array([[2., 1., 0.],
           [3., 2., 1.],
           [0., 3., 2.]], dtype=float32)
    """
    if isinstance(masks, Mask | str) or not isinstance(masks, Iterable):
        raise BadValue(
            "The masks are not a list",
            "this call applies several masks",
            "Pass a list of masks, or call engine.apply with one.",
        )
    bank = Bank(tuple(as_mask(mask, anchor) for mask in masks))
    if flip:
        bank = bank.flipped()
    what = "Several masks in one launch need a CUDA device"
    limit = f"pictures up to {SIMULATOR_SIDE} x {SIMULATOR_SIDE}"
    remedy = f"Apply one mask at a time, or choose the simulator ({limit})."
    key = implicit_gemm.VARIANT.key
    try:
        first = Request(
            image, bank.masks[0], border, cval, None, key, block, device, flip=False, layout=layout
        )
    except DeviceUnavailable as error:
        if device not in (None, AUTO):
            raise
        raise DeviceUnavailable(what, error.why, remedy) from error
    if first.device.kind != implicit_gemm.VARIANT.device.value:
        raise DeviceUnavailable(what, f"the chosen device is {first.device.title}", remedy)
    # The request's own choice is the variant for one mask, and its default block that for one mask.
    chosen = None if block is None else first.choice.block
    job = bank_job(bank, first.problem, first.samples, block=chosen, layout=first.asked.layout)
    outcome = outcome_of(job, first.device, SamplingPlan(budget_s=budget_s), executor_for)
    return as_applied(outcome, (len(bank), *first.shape))
