"""`network-implicit-gemm`: both convolutions as products of matrices; the large matrix is never stored.

Idea
    Y = W X (`gemm_kernels.py`). X repeats each map up to 25 times, so the block builds only the 25 x 25
    cells of it that it needs next, in shared memory, multiplies, and builds the next ones: a phase for each
    input map.
Who loads what
    In each phase every thread loads one weight and one cell, which 25 threads use; after the barrier it
    multiplies a row of W with a column of X.
What it saves
    Against `network-connected`: loads of weights and values fall by a factor of 25 (less at the edges: 32
    maps take two blocks of 25).
Limit
    Each multiply-add needs two loads from shared memory. 625 threads are 20 warps, of which the last has 17
    threads.

    The report's worked product, 14 20 15 24 and 12 24 17 26, is `engine.tasks.network.worked_product`.

Source: ECE408 final report "CUCUDA", Optimizations, 4 "Build Matrix Multiplication on the fly": "we chose to
use 25 by 25 blocks so each thread was responsible for loading one element from mask and one from the input."
"""

from engine.variants.network.gemm_kernels import STEPS, picture_loads
from engine.variants.network.passes import stage

VARIANT = stage(
    STEPS,
    key="network-implicit-gemm",
    title="Implicit matrix product",
    idea="Convolutions as products of matrices in blocks of 25 × 25; the unrolled maps exist only as tiles "
    "in shared memory.",
    picture_loads=picture_loads,
)
