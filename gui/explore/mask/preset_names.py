"""Which preset a mask is. No widgets in here."""

from functools import cache, lru_cache

import numpy as np

from engine.errors import EngineError
from engine.mask.mask import Mask
from engine.mask.presets import Preset, presets

EDITED = ", edited"


def preset_of(mask: Mask) -> Preset | None:
    """Return the preset that has these very weights, anchor and offset."""
    return _by_mask().get(mask)


def title_of(mask: Mask) -> str:
    """Return what a mask is called, a preset by its title; empty where it has no name."""
    preset = preset_of(mask)
    return preset.title if preset is not None else mask.name.removesuffix(EDITED)


def _presets() -> tuple[Preset, ...]:
    try:
        return tuple(presets())
    except EngineError:
        return ()


# Several panels ask with each edit; comparing with all of them took 0.7 ms.
@cache
def _by_mask() -> dict[Mask, Preset]:
    # Of two with the same weights the first.
    return {preset.mask: preset for preset in reversed(_presets())}


def name_of(mask: Mask, title: str) -> str:
    """Return what a mask is called that goes by a title: Sobel x; Sobel x, edited; nothing.

    A mask that was edited until it is another one has no name.
    """
    # A preset with another anchor, offset or divisor keeps its name, but is not what the name promises.
    is_own = bool(mask.name) and mask.name not in _by_title() and not mask.name.endswith(EDITED)
    if not title or is_own or preset_of(mask) is not None:
        return title
    known = _by_title().get(title)
    return f"{title}{EDITED}" if known is None or _resembles(mask, known.mask) else ""


def shown_title(mask: Mask, title: str) -> str:
    """Return the same for people: Custom mask where it has no name."""
    return name_of(mask, title) or "Custom mask"


@cache
def _by_title() -> dict[str, Preset]:
    return {preset.title: preset for preset in _presets()}


# Asked several times with each edit.
@lru_cache(64)
def _resembles(mask: Mask, original: Mask) -> bool:
    """Whether half of the weights of two masks are the same, or are in one proportion."""
    own, other = mask.weights, original.resized(*mask.shape).weights
    used = (own != 0) | (other != 0)
    proportion = float((own * other).sum() / max((other * other).sum(), np.finfo(float).tiny))
    same = max(int(np.isclose(own, factor * other)[used].sum()) for factor in (1.0, proportion))
    return 2 * same >= int(used.sum())
