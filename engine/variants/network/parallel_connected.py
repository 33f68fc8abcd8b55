"""`network-connected`: the connected layers on the device as well, a thread per value; the host does nothing.

Idea
    Each thread sums the products of one drawing's vector with one column of weights, 16 at a time.
Who loads what
    Each multiply-add loads a value and a weight from global memory. Threads side by side ask for neighbouring
    weights and for the same value.
What it saves
    Against `network-pool`: the host's loops over 132,352 weights per drawing, and the copies between them.
    The scores alone go back.
Limit
    Each weight is loaded again for every drawing.

Source: ECE408 final report "CUCUDA", Performance Analysis: "After integrating parallelization of neural
network, the running time became around 9 seconds."
"""

from engine.variants.network.passes import CONNECTED, convolution, pool, stage

STEPS = (convolution(1), pool(1), convolution(2), pool(2), *CONNECTED)

VARIANT = stage(
    STEPS,
    key="network-connected",
    title="Parallel fully connected",
    idea="A thread for each value of the connected layers, too: the whole network runs on the device.",
)
