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

from engine.device.launches import DeviceKind, Launch, Pass
from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.weights import Weights
from engine.tasks.work import Work
from engine.variants.network import passes as one
from engine.variants.network.contract import NetworkVariant
from engine.variants.network.layer_kernels import (
    plan_of_layers,
    refuse_batch,
    roundings_by_parts,
    work_of_layers,
)


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return a launch for each layer."""
    return plan_of_layers(problem)


def work(problem: ForwardPass, block: Block) -> Work:
    """Return the work of all layers."""
    return work_of_layers(problem)


def unsupported(problem: ForwardPass, weights: Weights, block: Block, limits: Limits) -> Refusal | None:
    """Return why the batch is too large for the grid, or None."""
    return refuse_batch(problem)


def passes(problem: ForwardPass, weights: Weights, block: Block) -> tuple[Pass, ...]:
    """Return every layer in order."""
    return (
        one.convolution_1(problem, weights),
        one.pool_1(problem),
        one.convolution_2(problem, weights),
        one.pool_2(problem),
        one.hidden(problem, weights),
        one.output(problem, weights),
    )


VARIANT = NetworkVariant(
    key="network-connected",
    title="Parallel fully connected",
    device=DeviceKind.CUDA,
    idea="A thread for each value of the connected layers, too: the whole network runs on the device.",
    prepare=one.prepare_layers(passes),
    plan=plan,
    work=work,
    unsupported=unsupported,
    passes=passes,
    roundings=roundings_by_parts,
    printed_s=9.0,
)
