"""Which preset a mask is. No widgets in here."""

from functools import cache

from engine.errors import EngineError
from engine.mask.mask import Mask
from engine.mask.presets import Preset, presets


def preset_of(mask: Mask) -> Preset | None:
    """Return the preset that has these very weights, anchor and offset."""
    return _by_mask().get(mask)


def is_title(name: str) -> bool:
    """Return whether a preset is called this."""
    return any(preset.title == name for preset in _presets())


def title_of(mask: Mask) -> str:
    """Return what a mask is called, a preset by its title; empty where it has no name."""
    preset = preset_of(mask)
    return preset.title if preset is not None else mask.name


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


def shown_title(mask: Mask, title: str) -> str:
    """Return what a mask is called that goes by a title: Sobel x; Sobel x, edited; Custom mask."""
    # A preset with another anchor, offset or divisor keeps its name, but is not what the name promises.
    is_own = bool(mask.name) and not is_title(mask.name)
    if preset_of(mask) is None and not is_own:
        return f"{title}, edited" if title else "Custom mask"
    return title
