"""Every way to multiply matrices, in teaching order. An explicit tuple, beside that of the filters."""

import difflib

from engine.errors import UnknownName
from engine.variants.matmul import blas, naive, tiled
from engine.variants.matmul.contract import MatmulVariant

MATMUL_VARIANTS: tuple[MatmulVariant, ...] = (naive.VARIANT, tiled.VARIANT, blas.VARIANT)


def matmul_variant(key: str) -> MatmulVariant:
    """Return the way to multiply of that key.

    Raises
    ------
    UnknownName
        None is called so; the remedy names the nearest one and all of them.
    """
    keys = [known.key for known in MATMUL_VARIANTS]
    for known in MATMUL_VARIANTS:
        if known.key == key:
            return known
    near = difflib.get_close_matches(str(key), keys, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UnknownName(
        f"variant '{key}'",
        "no way to multiply matrices is called that",
        f"{hint}Choose one of {', '.join(keys)}.",
    )
