"""`numpy`: NumPy's own product on the CPU, by the BLAS that it was built with: what the kernels compare with.

What it does inside is the library's: vectors, tiles for each cache, all cores. So its loads are not counted,
and it has neither tile nor CGMA. Python looks for Ctrl+C between its calls, so past 4096 x 4096 x 4096 a
product is several calls, one per part of P, which take as long as one for the whole (8192: 5.4 s).
"""

import math

import numpy as np

from engine.device.launches import DeviceKind
from engine.tasks.product.problem import MatmulVariant

# 0.7 s on two cores.
MULTIPLY_ADDS_PER_CALL = 2**36


class NumpyProduct:
    """A product by `numpy.matmul`."""

    def launch(self, image: tuple[np.ndarray, np.ndarray], out: np.ndarray, stream: object = None) -> None:
        """Multiply the pair (M, N) into P."""
        a, b = image
        rows, columns = out.shape
        side = max(1, math.isqrt(MULTIPLY_ADDS_PER_CALL // a.shape[1]))
        # Infinite and NaN elements are the person's own.
        with np.errstate(all="ignore"):
            if rows * columns <= side**2:
                np.matmul(a, b, out=out)
                return
            for top in range(0, rows, side):
                for left in range(0, columns, side):
                    part = out[top : top + side, left : left + side]
                    np.matmul(a[top : top + side], b[:, left : left + side], out=part)


VARIANT = MatmulVariant(
    key="numpy",
    title="numpy (BLAS)",
    device=DeviceKind.CPU,
    idea="NumPy's own product on the CPU, for comparison: the BLAS library that it was built with.",
    prepare=lambda product, constant, block: NumpyProduct(),
    work=lambda product, block: None,
    # No order of summation exceeds this: a product's own rounding, and one for each other product.
    roundings=lambda product, block: product.inner,
    uses_block=False,
    library="numpy",
)
