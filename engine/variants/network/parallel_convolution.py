"""`network-convolution`: both convolutions on the device, a thread per output; the host does all else.

Idea
    A block of 16 x 16 threads computes a tile of one map of one drawing; each thread sums the 25 products of
    its output for every input map, one map after another.
Who loads what
    Each multiply-add loads a value of the input map and a weight from global memory. The threads of a row of
    the block ask for neighbouring values and for the same weight; what others asked for may come from L1 or
    L2.
What it saves
    Against `network-serial`: 2.4 million outputs of 100 drawings are computed at once instead of one after
    another.
Limit
    The maps go to the host for each pool and come back: 74 KB per drawing after the first convolution. A map
    of 24 x 24 takes four blocks of which some threads have nothing to compute: 12 warps of a map diverge; one
    of 8 x 8 leaves three quarters of its only block idle, and 4 warps diverge.

Source: ECE408 final report "CUCUDA", Optimizations, 1 "Parallelize the convolution computation". There
blockIdx.y is the map and blockIdx.x the drawing, as here.
"""

from engine.variants.network.host_layers import CONNECTED_ON_HOST, pool_on_host, stage_with_host
from engine.variants.network.passes import convolution

STEPS = (convolution(1), pool_on_host(1), convolution(2), pool_on_host(2), *CONNECTED_ON_HOST)

VARIANT = stage_with_host(
    STEPS,
    key="network-convolution",
    title="Parallel convolution",
    idea="A thread for each output of both convolutions, in blocks of 16 × 16; the host does all other "
    "layers, so the maps go to and fro.",
)
"""Its times are those of the host's clock, the copies between device and host in them."""
