"""`network-fused`: pool and linearisation fused into the convolution, a thread per average.

Idea
    A thread computes the four outputs under one average, rectifies them, averages them, and stores the
    average where the next layer, or the linear vector, has it. No map of a convolution exists in memory.
Who loads what
    As `network-convolution`: a value and a weight for each multiply-add.
What it saves
    Against `network-pool`: two launches, and the maps of the convolutions, 90 KB per drawing that were
    written and read again.
Limit
    A quarter as many threads do the same work: 16 averages of a map of 4 x 4 leave 15 of 16 threads of a
    block idle.

Source: ECE408 final report "CUCUDA", Conclusion, 4 "Combine linearization and convolution".
"""

from engine.variants.network.host_layers import CONNECTED_ON_HOST, stage_with_host
from engine.variants.network.passes import fused

STEPS = (fused(1), fused(2), *CONNECTED_ON_HOST)

VARIANT = stage_with_host(
    STEPS,
    key="network-fused",
    title="Pool and linearisation fused",
    idea="A thread computes the four outputs under one average and stores that alone: the convolutions' "
    "maps never exist in memory. The host does the connected layers.",
)
