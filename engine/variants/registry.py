"""Every variant, in teaching order. An explicit tuple: adding a variant is one file and one line here."""

import difflib

from engine.errors import UnknownName
from engine.variants.contract import Variant
from engine.variants.cpu import parallel, serial
from engine.variants.cuda import cached, naive, tiled

VARIANTS: tuple[Variant, ...] = (
    serial.VARIANT,
    parallel.VARIANT,
    naive.VARIANT,
    tiled.VARIANT,
    cached.VARIANT,
)


def variant(key: str) -> Variant:
    """Return the variant of that key.

    Raises
    ------
    UnknownName
        No variant is called so; the remedy names the nearest one and how to see them all.
    """
    for candidate in VARIANTS:
        if candidate.key == key:
            return candidate
    keys = [candidate.key for candidate in VARIANTS]
    near = difflib.get_close_matches(key, keys, n=1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UnknownName(
        f"variant '{key}'", "no variant is called that", f"{hint}Choose one of auto, {', '.join(keys)}."
    )
