"""Draw the synthetic pictures of assets/samples: `python -m assets.make_samples` from the repository's root.

Each has something that a filter shows clearly. All are computed and seeded, so that they can be made again.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.image.save import save_image

FOLDER = Path(__file__).resolve().parent / "samples"
SIDE = 256
SEED = 20


def zone_plate() -> NDArray[np.uint8]:
    """Rings whose frequency grows from 0 in the middle to half a cycle a pixel at the middle of each edge."""
    rows, cols = _centred_grid()
    return _rounded_8(127.5 + 127.5 * np.cos(np.pi * (rows**2 + cols**2) / SIDE))


def step_edges() -> NDArray[np.uint8]:
    """Edges at every angle and five heights: a star of 24 sectors, brighter step by step."""
    rows, cols = _centred_grid()
    sector = np.floor((np.arctan2(rows, cols) + np.pi) / (2 * np.pi) * 24).astype(np.intp) % 24
    heights = np.array([16, 32, 64, 128, 224])
    dark = 16
    values = np.where(sector % 2 == 0, dark, dark + heights[(sector // 2) % 5] - 1)
    return values.astype(np.uint8)


def impulse() -> NDArray[np.uint8]:
    """One white pixel in the middle: the result of a filter is its mask."""
    image = np.zeros((63, 63), np.uint8)
    image[31, 31] = 255
    return image


def checkerboard() -> NDArray[np.uint8]:
    """Squares of 1, 2, 4 and 8 pixels, one size in each quarter."""
    rows, cols = np.indices((SIDE, SIDE))
    half = SIDE // 2
    size = np.array([[1, 2], [4, 8]])[rows // half, cols // half]
    return ((rows // size + cols // size) % 2 * 255).astype(np.uint8)


def noise() -> NDArray[np.uint8]:
    """Grey with normal noise (standard deviation 32) and one pixel of a hundred black or white."""
    generator = np.random.default_rng(SEED)
    image = _rounded_8(generator.normal(128, 32, (SIDE, SIDE)))
    odds = generator.random((SIDE, SIDE))
    image[odds < 0.005] = 0
    image[odds > 0.995] = 255
    return image


def gradient_16() -> NDArray[np.uint16]:
    """Smooth 16-bit ramp with waves 40 steps high, which a cut to 8 bit (257 steps each) removes."""
    rows, cols = np.indices((SIDE, SIDE)) / (SIDE - 1)
    ramp = 2000 + 61000 * (0.75 * cols + 0.25 * rows)
    waves = 40 * np.sin(2 * np.pi * 16 * np.hypot(rows - 0.5, cols - 0.5))
    return np.rint(ramp + waves).astype(np.uint16)


DRAWINGS: dict[str, Callable[[], NDArray[Any]]] = {
    "zone-plate": zone_plate,
    "step-edges": step_edges,
    "impulse": impulse,
    "checkerboard": checkerboard,
    "noise": noise,
    "gradient-16": gradient_16,
}


def _centred_grid() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows, cols = np.indices((SIDE, SIDE)) - SIDE / 2
    return rows, cols


def _rounded_8(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    return np.rint(np.clip(values, 0, 255)).astype(np.uint8)


def main() -> None:
    """Write every drawing beside the photographs."""
    for key, draw in DRAWINGS.items():
        path = FOLDER / f"{key}.png"
        save_image(draw(), path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
