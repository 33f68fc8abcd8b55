"""An interpreter of PTX: runs CUDA kernels without a GPU, checks and counts what they do. No Numba here."""

from engine.ptx.findings import Finding
from engine.ptx.launch import Run, run
from engine.ptx.memory import Array
from engine.ptx.module import PtxError
from engine.ptx.trace import TraceStep

__all__ = ["Array", "Finding", "PtxError", "Run", "TraceStep", "run"]
