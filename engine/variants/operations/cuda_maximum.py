"""`cuda-maximum`: a thread per sample compares all cells of its window.

Who loads what
    Each thread loads size squared cells; neighbours ask for nearly the same, which the caches serve.
Limit
    Loads: no thread uses what its neighbour has found.
"""

from engine.device.launches import Operand
from engine.variants.operations.extremes import cuda_work, extreme_kernel
from engine.variants.operations.grid import Step, cuda_variant

VARIANT = cuda_variant(
    Step(
        lambda problem, block: extreme_kernel(problem.whole("size"), True),
        arguments=lambda problem, patch: (Operand.IMAGE, problem.width),
    ),
    work=cuda_work,
    key="cuda-maximum",
    title="Thread per sample",
    operation="maximum",
    idea="A thread per sample compares the cells of its window one after another.",
)
