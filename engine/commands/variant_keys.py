"""Keys of variants where a command takes filters only."""

from engine.errors import UnknownName
from engine.variants.registry import MATMUL_VARIANTS


def key_of_filter(key: str) -> str:
    """Return a key, known or not, that is not one of a matrix product.

    Raises
    ------
    UnknownName
        It is one; the remedy names the command that knows it.
    """
    if any(key == known.key for known in MATMUL_VARIANTS):
        raise UnknownName(
            f"variant '{key}'",
            "it multiplies matrices and filters no picture",
            f"Run python main.py matmul --variants {key}, or choose a filter that `variants` lists.",
        )
    return key
