"""The task of passing drawings through a network, for the pipeline, and its variants: the stages."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.geometry.block import Block
from engine.run.task import Job, Task
from engine.run.variant import Registered, VariantOf, named
from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import CLASSES, ForwardPass, refuse_too_large

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
    cpu=("network.report:SERIAL", "network.cpu_fast"),
    cuda=(
        "network.report:CONVOLUTION", "network.report:POOL",
        "network.report:FUSED", "network.report:CONNECTED",
        "network.one_change:LINEARISED", "network.one_change:UNCOALESCED",
        "network.gemm:IMPLICIT", "network.gemm:UNROLLED",
        "network.one_change:CONSTANT", "network.gemm:STREAMS", "network.fast",
    ),
)  # fmt: skip
"""The stages of the CNN report, and the fastest network of ours: each computes the whole forward pass."""


def network_variant(key: str) -> NetworkVariant:
    """Return the stage of the network of that key; an `UnknownName` names the nearest one and all of them."""
    return named(key, NETWORK_VARIANTS, (), "no stage of the network is called that", alike=0.5)


class Network(Task[ForwardPass, NetworkVariant]):
    """The forward pass of a batch, whose operand are its drawings as maps; its constant are the weights."""

    problem = ForwardPass
    oracle = "engine.tasks.network.oracle"
    variants = NETWORK_VARIANTS
    heading = "Stages of the network (`python main.py network`)"
    cpu_per_s = 5e8

    def allocate(self, backend: Backend, job: "NetworkJob", host_out: object = None) -> Buffers:
        """Return buffers for the drawings and the scores."""
        scores = job.problem.batch, CLASSES
        return backend.allocate_arrays(job.operands, scores, pinned=job.variant.pinned_drawings)

    def compared(self, job: "NetworkJob") -> tuple[Any, ...]:
        """Return the drawings, the weights, the problem, and the roundings of the variant."""
        (maps,) = job.operands
        return maps[:, 0], job.constant, job.problem, job.variant.roundings

    def refuse_operands(self, job: "NetworkJob") -> None:
        """Refuse a batch that memory cannot hold."""
        refuse_too_large(job.problem)

    def labels(self, job: "NetworkJob") -> dict[str, object]:
        """Return the digest of the weights."""
        return {"weights_digest": job.constant.digest}


NetworkJob = Job[ForwardPass, NetworkVariant]
NETWORK = Network()


def network_job(
    stage: NetworkVariant, drawings: np.ndarray, weights: Weights, *, seed: int = 0
) -> NetworkJob:
    """Return the job of passing drawings (batch, 28, 28), float32, through the network."""
    # Not [:, None]: an axis of stride 0 is taken for a broadcast one when it is copied to a device.
    maps = drawings.reshape(len(drawings), 1, *drawings.shape[1:])
    return Job(NETWORK, stage, stage.default_block, ForwardPass(len(drawings)), (maps,), weights, seed=seed)
