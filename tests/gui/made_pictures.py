"""Pictures in shared memory, made as the engine's process makes them."""

from collections.abc import Callable

import numpy as np

from engine.host.protocol import Filtered, PictureHandle, ScreenLevels
from engine.host.shared import attach, create
from engine.host.shared_array import SharedArray

Share = Callable[[np.ndarray], SharedArray]


def shared(array: np.ndarray) -> SharedArray:
    """Put an array into shared memory; the fixture `share` takes it away again."""
    (place,) = create((array.shape, str(array.dtype)))
    attach(place)[...] = array
    return place


def screen_of(pixels: np.ndarray, share: Share, opacity: int = 255) -> ScreenLevels:
    """Return the screen form of uint8 pixels (H x W x 1 or 3): full size and one half, even opacity."""
    rows, columns = pixels.shape[:2]
    full = np.full((rows, columns, 4), 255, np.uint8)
    full[..., :3] = pixels[..., ::-1]
    full = (full.astype(np.uint16) * opacity // 255).astype(np.uint8)
    half = full[::2, ::2].copy()
    return ScreenLevels((share(full), share(half)), opaque=opacity == 255)


def handle_of(pixels: np.ndarray, share: Share, alpha: np.ndarray | None = None) -> PictureHandle:
    """Return a picture as the engine's process announces it."""
    screen = screen_of(pixels.astype(np.uint8), share)
    rows, columns, channels = pixels.shape
    return PictureHandle(
        share(pixels),
        None if alpha is None else share(alpha),
        screen,
        "made.png",
        f"made.png {columns} x {rows}, {channels} channels",
    )


def filtered_of(values: np.ndarray, share: Share) -> Filtered:
    """Return float32 values as a result arrives."""
    shown = np.nan_to_num(values, posinf=255, neginf=0).clip(0, 255).astype(np.uint8)
    return Filtered(share(values.astype(np.float32)), screen_of(shown, share), "cpu-parallel", "cpu", 1.0)
