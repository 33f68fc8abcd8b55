"""`network-pool`: the average pools on the device too, a thread per average; its store linearises.

Idea
    As the convolution, without a filter: each thread averages a square of 2 x 2. The second pool stores each
    average where the linear vector has it, map after map and row after row, so that the linearisation needs
    neither a launch nor a copy.
Who loads what
    Each thread loads its four values from global memory and stores one.
What it saves
    Against `network-convolution`: the maps stay on the device. Only 4 KB per drawing go to the host, for the
    connected layers.
Limit
    The convolutions' maps are written and read once more, which is all that a pool does. Of a map of 12 x 12
    6 warps diverge, of one of 4 x 4 2.

Source: ECE408 final report "CUCUDA", Optimizations, 2 "Parallelize the computation of linearization and
average_pool", and Conclusion, 4: "so that a kernel launch was saved". After these two it prints about 40 s.
"""

from engine.variants.network.host_layers import CONNECTED_ON_HOST, stage_with_host
from engine.variants.network.passes import convolution, pool

STEPS = (convolution(1), pool(1), convolution(2), pool(2), *CONNECTED_ON_HOST)

VARIANT = stage_with_host(
    STEPS,
    key="network-pool",
    title="Parallel pool, linearised",
    idea="A thread for each average of both pools; the second one stores each where the linear vector has "
    "it. The host does the connected layers.",
)
