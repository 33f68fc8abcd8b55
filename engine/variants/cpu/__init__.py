"""CPU variants, one a file. Every compiled function releases the GIL."""

# Before anything here imports Numba: it sets what Numba reads when it is first imported.
from engine.device import numba_cuda

__all__ = ["numba_cuda"]
