"""A process of the CUDA simulator that filters with both layouts and prints, as JSON, how the rows lay on the device."""

import json
import sys
from typing import Any

import numpy as np

import engine
from engine.device.cuda import CudaBackend

# Small widths that are as awkward as 1001, and two that are boundaries already.
PICTURES = ((13, 1, "float32"), (13, 3, "uint8"), (33, 1, "uint16"), (41, 3, "uint8"), (32, 1, "float32"), (64, 1, "uint16"))  # fmt: skip
HEIGHT = 4


def main() -> None:
    """Print for each picture and layout: the bytes from row to row of picture and result, and whether all was exact."""
    made: list[Any] = []
    allocate = CudaBackend.allocate

    def watched(self: CudaBackend, *arguments: Any, **more: Any) -> Any:
        buffers = allocate(self, *arguments, **more)
        made.append(buffers)
        return buffers

    CudaBackend.allocate = watched  # type: ignore[method-assign]
    random, found = np.random.default_rng(5), []
    for width, channels, dtype in PICTURES:
        shape = (HEIGHT, width, channels)
        picture = random.integers(0, 200, shape).astype(dtype)
        # Every other column of a larger array: the copies in and out cannot take its memory as it lies.
        spread = np.repeat(picture, 2, axis=1)[:, ::2]
        results = []
        for layout in ("pitched", "packed"):
            applied = engine.apply(
                spread, [[1, 2, 3]], variant="naive", device="simulator", block=(8, 4), border="wrap", layout=layout
            )  # fmt: skip
            results.append(applied.values)
            buffers = made[-1]
            on_device = np.asarray(buffers.image.copy_to_host())[:, :width]
            found.append(
                {
                    "picture": [width, channels, dtype],
                    "layout": applied.result.layout,
                    "row_bytes": [array.strides[0] for array in (buffers.image, buffers.out)],
                    "dense_bytes": [picture[0].nbytes, picture[0].size * 4],
                    "uploaded": bool(np.array_equal(on_device, picture)),
                    "same": bool(np.array_equal(results[0], results[-1])),
                    "verified": applied.result.status,
                }
            )
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
