"""A process of the CUDA simulator: filter with both layouts, print how the rows were stored, as JSON."""

import json
import sys
from typing import Any

import numpy as np

import engine
from engine.device.cuda import CudaBackend

# Small widths that are as awkward as 1001, and two that are boundaries already.
PICTURES = (
    (13, 1, "float32"), (13, 3, "uint8"), (33, 1, "uint16"), (41, 3, "uint8"), (32, 1, "float32"),
    (64, 1, "uint16"),
)  # fmt: skip
HEIGHT = 2


def main() -> None:
    """Print for each picture and layout the bytes per row of picture and result, and what was right."""
    made: list[Any] = []
    allocate = CudaBackend.allocate
    CudaBackend.allocate = lambda *given, **named: made.append(allocate(*given, **named)) or made[-1]  # type: ignore
    random, found = np.random.default_rng(5), []
    for width, channels, dtype in PICTURES:
        picture = random.integers(0, 200, (HEIGHT, width, channels)).astype(dtype)
        # Every other column of a larger array: the copies cannot take its memory as it is.
        spread = np.repeat(picture, 2, axis=1)[:, ::2]
        results = []
        for layout in ("pitched", "packed"):
            options = {"variant": "naive", "device": "simulator", "block": (32, 2), "border": "wrap"}
            applied = engine.apply(spread, [[1, 2, 3]], layout=layout, **options)
            results.append(applied.values)
            image, out = made[-1].image, made[-1].out
            found.append(
                {
                    "picture": [width, channels, dtype],
                    "layout": applied.result.layout,
                    "row_bytes": [image.strides[0], out.strides[0]],
                    "dense_bytes": [picture[0].nbytes, picture[0].size * 4],
                    "uploaded": bool(np.array_equal(image.copy_to_host()[:, :width], picture)),
                    "same": bool(np.array_equal(results[0], results[-1])),
                    "verified": applied.result.status,
                }
            )
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
