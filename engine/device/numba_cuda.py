"""The one import of Numba's CUDA target.

numba-cuda is in maintenance mode; its replacement concerns this file, the other `cuda*.py` of this folder and
the kernels, nothing else. Where the package is missing (macOS) `missing` says so: Numba alone then still
simulates, but drives no GPU that this program supports.
"""

import os
from contextlib import suppress

from numba import config, cuda

from engine.device.cuda_presence import SIMULATED, missing

__all__ = ["SIMULATED", "cuda", "intrinsic", "missing"]

try:
    from numba.cuda.extending import intrinsic
except ImportError:  # Numba's own CUDA target, without the package: nothing is compiled for it
    from numba.extending import intrinsic

# Numba warns of each launch of fewer than 128 blocks; people come here to see small pictures, large blocks.
# Set here, because Numba reads the environment when it is first imported, wherever that is.
if "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS" not in os.environ:
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0

if SIMULATED:
    # Without greenlet, or where Numba's simulator lies elsewhere, its own threads do, slower.
    with suppress(ImportError):
        from engine.device.simulated_threads import run_threads_as_greenlets

        run_threads_as_greenlets()
