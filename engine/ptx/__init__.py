"""An interpreter of PTX: runs CUDA kernels without a GPU, checks and counts what they do. No Numba here."""

from engine.ptx.findings import Finding
from engine.ptx.launch import Run, run
from engine.ptx.memory import Array
from engine.ptx.module import PtxError

__all__ = ["Array", "Finding", "PtxError", "Run", "run"]
