"""The one import of Numba's CUDA target.

numba-cuda is in maintenance mode; its replacement concerns this file, the other `cuda*.py` of this folder and
the kernels, nothing else. Where the package is missing (macOS) `missing` says so: Numba alone then still
simulates, but drives no GPU that this program supports.
"""

from contextlib import suppress

from numba import cuda

from engine.device.cuda_presence import SIMULATED, missing

__all__ = ["SIMULATED", "cuda", "intrinsic", "missing"]

try:
    from numba.cuda.extending import intrinsic
except ImportError:  # Numba's own CUDA target, without the package: nothing is compiled for it
    from numba.extending import intrinsic

if SIMULATED:
    # Without greenlet, or where Numba's simulator lies elsewhere, its own threads do, slower.
    with suppress(ImportError):
        from engine.device.simulated_threads import run_threads_as_greenlets

        run_threads_as_greenlets()
