"""What a stage of the network is, and every one: it computes the whole forward pass. No Numba in here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from engine.geometry.block import Block
from engine.run.registered import Registered, named
from engine.run.variant import VariantOf
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.weights import Weights

DEFAULT_BLOCK = Block(16, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkVariant(VariantOf[ForwardPass, Weights]):
    """One way to compute the scores of a batch; `Prepared.launch` takes (drawings,), (batch, 1, 28, 28).

    What it prepares also has `part_ms(image, out, clock)`: the time of each of its steps, ms, by the keys of
    the layers that the step computes. `clock` times a part that can be launched by itself, after a whole pass
    on the same arrays.
    """

    # The most roundings that a product goes through in a sum of so many: the rounding bound counts with it.
    # No order of summation exceeds the default: its own, and one for each other product.
    roundings: Callable[[int], int] = lambda terms: terms

    task: ClassVar[str] = ForwardPass.task

    default_block: Block = DEFAULT_BLOCK
    uses_block: bool = False
    # Whether it takes the drawings from pinned memory of the host and copies them to the device by itself.
    pinned_drawings: bool = False


NETWORK_VARIANTS = Registered[NetworkVariant](
    cpu=("network.serial", "network.cpu_fast"),
    cuda=(
        "network.parallel_convolution",
        "network.parallel_pool",
        "network.fused_pool",
        "network.parallel_connected",
        "network.linearised",
        "network.uncoalesced",
        "network.implicit_gemm",
        "network.unrolled_matrix",
        "network.constant_filters",
        "network.streams",
        "network.fast",
    ),
)
"""The stages of the CNN report, and the fastest network of ours: each computes the whole forward pass."""


def network_variant(key: str) -> NetworkVariant:
    """Return the stage of the network of that key; an `UnknownName` names the nearest one and all of them."""
    return named(key, NETWORK_VARIANTS, (), "no stage of the network is called that", alike=0.5)
