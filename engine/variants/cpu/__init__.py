"""CPU variants, one a file. Every compiled function releases the GIL."""

# Before any function here is declared: it says where compiled code is kept, also where nobody has asked for a device yet.
from engine.device.numba_cuda import COMPILED_FOLDER

__all__ = ["COMPILED_FOLDER"]
