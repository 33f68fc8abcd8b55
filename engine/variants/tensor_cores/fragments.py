"""What kernels on tensor cores share: the device that they need, and weights as words that lanes hold."""

import numpy as np

from engine.geometry.block import Limits
from engine.geometry.refusal import Refusal

LEAST_CAPABILITY = (8, 0)
INSTEAD = "Use register-blocked."


def refuse_device(limits: Limits, needed: str) -> Refusal | None:
    """Return why a device is too old for what is `needed` of it, in words; None if it is not."""
    capability = limits.compute_capability
    if capability is None or capability >= LEAST_CAPABILITY:
        return None
    has = ".".join(map(str, capability))
    short = "Needs tensor cores of compute capability 8.0"
    detail = f"It needs {needed} of compute capability 8.0; this device has {has}."
    return Refusal("tensor-cores", short, detail, INSTEAD)


def words_of(parts: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return parts of weights as words of uint32, whose bytes or halves come from these `cells`.

    The last axis of `parts` are the cells of a mask, or of its rows, and after them a zero: cells that lie
    past the mask have its number.
    """
    return np.ascontiguousarray(parts[..., cells]).view(np.uint32)


def with_zero(parts: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    """Return parts of weights of that type, with a zero after the last axis's cells."""
    padded = np.zeros((*parts.shape[:-1], parts.shape[-1] + 1), dtype)
    padded[..., :-1] = parts
    return padded
