"""`auto`: chooses a device and a variant, and says why. It never hides which one ran."""

from dataclasses import dataclass

from engine.block import Block
from engine.machine import DeviceInfo
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS, variant

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Choice:
    """The variant that runs, and why it was chosen where nobody named it."""

    variant: Variant
    block: Block
    reason: str = ""


def choose(key: str, problem: Problem, mask: Mask, block: Block | None, device: DeviceInfo) -> Choice:
    """Return the variant and the block that a request means on a device.

    Parameters
    ----------
    key : str
        A variant's key, which is taken at its word, or "auto".
    problem : Problem
    mask : Mask
    block : Block, optional
        None: the variant's default.
    device : DeviceInfo
        `auto` chooses among the variants written for its kind.

    Raises
    ------
    UnknownName
        No variant is called so.
    """
    if key != AUTO:
        chosen = variant(key)
        return Choice(chosen, block or chosen.default_block)
    for candidate in _PREFERENCE[device.kind]:
        chosen = variant(candidate.key)
        wanted = block if block is not None and chosen.uses_block else chosen.default_block
        if chosen.unsupported(problem, mask, wanted, device.limits) is None:
            return Choice(chosen, wanted, candidate.reason)
    fallback = next(v for v in VARIANTS if v.device.value == device.kind)
    return Choice(fallback, block or fallback.default_block, "nothing else suits this block")


@dataclass(frozen=True, slots=True)
class _Preference:
    key: str
    reason: str


# Measured on an H200 (docs/performance.md): this order holds for masks from 3 x 3 to 15 x 15, float32 and 8-bit RGB,
# whatever the block of `tiled`.
_PREFERENCE: dict[str, tuple[_Preference, ...]] = {
    "cpu": (_Preference("cpu-parallel", "the fastest on the CPU for every mask"),),
    "cuda": (
        _Preference("register-blocked", "results stay in registers, the fastest direct CUDA kernel here"),
        _Preference("tiled", "the mask is too large for registers; each input cell is loaded once a block"),
        _Preference("naive", "the input tile of this mask and block does not fit shared memory"),
    ),
}
