"""`numpy`: NumPy's own product, made by the BLAS that it was built with, on the CPU: what the kernels compare with.

What it does inside is the library's: vectors, tiles for each cache, all cores. So its loads are not counted, and it has
neither tile nor CGMA.
"""

from typing import Any

import numpy as np

from engine.matrices.contract import MatmulVariant
from engine.matrices.problem import MatrixProduct
from engine.variants.contract import DeviceKind


class NumpyProduct:
    """A product by `numpy.matmul`."""

    def launch(self, image: Any, out: Any, stream: Any = None) -> None:
        """Multiply the pair (A, B) into C."""
        a, b = image
        # Infinite and NaN elements are the person's own.
        with np.errstate(all="ignore"):
            np.matmul(a, b, out=out)


def roundings(product: MatrixProduct, tile: int) -> int:
    """Return what no order of summation exceeds: a product's own rounding, and one for each other product."""
    return product.inner


VARIANT = MatmulVariant(
    key="numpy",
    title="numpy (BLAS)",
    device=DeviceKind.CPU,
    idea="NumPy's own product on the CPU, for comparison: the BLAS library that it was built with.",
    prepare=lambda product, tile: NumpyProduct(),
    roundings=roundings,
    uses_tile=False,
)
