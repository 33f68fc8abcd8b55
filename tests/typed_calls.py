"""What a type checker says of the Python calls: `mypy` reads this file, and nothing runs it.

A line that is ignored has to be wrong: an ignored line without an error is one.
"""

from typing import assert_type

import numpy as np

import engine


class OfGpu:
    """An array in a GPU's memory, as its protocol shows it."""

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {}


picture, gpu = engine.Picture(np.eye(3, dtype=np.float32)), OfGpu()
host: np.ndarray = engine.correlate(picture, "sobel-x", border="wrap")
host = engine.convolve([[1.0]], [[1.0]], result="same")
host = engine.matmul([[1.0]], host)
assert_type(engine.correlate(gpu, "sobel-x"), OfGpu)
assert_type(engine.matmul(gpu, gpu, tile=8), OfGpu)
assert_type(engine.operate(picture, "median", size=3), engine.Operated)

number: int = engine.correlate(picture, "sobel-x")  # type: ignore[assignment]
number = engine.matmul(host, host)  # type: ignore[assignment]
host = engine.correlate(picture, "sobel-x", bordr="wrap")  # type: ignore[call-overload]
there: OfGpu = engine.convolve(picture, "box-3")  # type: ignore[assignment]
