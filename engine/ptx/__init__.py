"""An interpreter of PTX: runs CUDA kernels without a GPU, checks and counts what they do. No Numba here."""

from engine.ptx.launch import InterpretedRun, TraceStep, run
from engine.ptx.machine import Finding
from engine.ptx.memory import Array
from engine.ptx.module import PtxError

__all__ = ["Array", "Finding", "InterpretedRun", "PtxError", "TraceStep", "run"]
