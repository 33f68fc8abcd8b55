"""Calls on the CPU, beside OpenCV."""

from collections.abc import Callable

import cv2
import numpy as np

import engine


def calls_of(image: np.ndarray, weights: np.ndarray) -> dict[str, Callable[[], object]]:
    """Return the calls of the CPU; results are of the picture's own type, as OpenCV's are."""
    return {
        "ours": lambda: engine.correlate(image, weights, device="cpu", result="same"),
        "opencv": lambda: cv2.filter2D(image, -1, weights, borderType=cv2.BORDER_CONSTANT),
        "copy": image.copy,
    }
