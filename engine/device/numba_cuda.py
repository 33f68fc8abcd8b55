"""The one import of Numba's CUDA target.

numba-cuda is in maintenance mode; its replacement concerns this file, the other `cuda*.py` and the kernels.
"""

from numba import cuda, float32, float64, int32, int64, types, uint8

__all__ = ["cuda", "driver", "float32", "float64", "int32", "int64", "intrinsic", "types", "uint8"]

try:
    from cuda.bindings import driver
except ImportError:  # nothing is launched then
    driver = None

try:
    from numba.cuda.extending import intrinsic
except ImportError:  # Numba's own CUDA target, without the package: nothing is compiled for it
    from numba.extending import intrinsic
