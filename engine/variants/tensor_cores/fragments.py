"""What a kernel on tensor cores needs: the device, refusals, and weights as the words that lanes hold."""

import numpy as np

from engine.geometry.block import Limits
from engine.geometry.refusal import Refusal

LEAST_CAPABILITY = (8, 0)


def refusal(code: str, short: str, more: str = "", remedy: str = "Use register-blocked.") -> Refusal:
    """Return a refusal whose sentence goes on after its short form, with what else to use."""
    return Refusal(code, short, f"{short}{more}.", remedy)


def refuse_device(limits: Limits, needed: str) -> Refusal | None:
    """Return why a device is too old for what is `needed` of it, in words; None if it is not."""
    capability = limits.compute_capability
    if capability is None or capability >= LEAST_CAPABILITY:
        return None
    has = ".".join(map(str, capability))
    return refusal("tensor-cores", f"Needs {needed} of compute capability 8.0", f"; this device has {has}")


def fragment_words(parts: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return parts of weights (bytes) as words of uint32.

    `cells` has the cell of each byte along the last axis of `parts`; one past the last is a zero.
    """
    padded = np.concatenate([parts, np.zeros_like(parts[..., :1])], axis=-1)
    return np.ascontiguousarray(padded[..., cells]).view(np.uint32)
