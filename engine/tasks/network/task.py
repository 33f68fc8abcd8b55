"""The task of passing drawings through a network, for the pipeline."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.device.backend import Backend, Buffers
from engine.device_info import INTERPRETED_PER_S, SIMULATOR, DeviceInfo
from engine.geometry.block import Block
from engine.run.task import Job, Task
from engine.tasks.network.problem import CLASSES, ForwardPass, refuse_too_large
from engine.tasks.network.variants import NETWORK_VARIANTS, NetworkVariant
from engine.tasks.network.weights import Weights

if TYPE_CHECKING:
    from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True)
class NetworkOperands:
    """Drawings (batch, side, side), float32, C-contiguous, and the weights of the network."""

    drawings: NDArray[np.float32]
    weights: Weights

    @property
    def maps(self) -> NDArray[np.float32]:
        """The drawings as maps (batch, 1, side, side), as `Prepared.launch` takes them."""
        # Not [:, None]: an axis of stride 0 is taken for a broadcast one when it is copied to a device.
        batch, side, _ = self.drawings.shape
        return self.drawings.reshape(batch, 1, side, side)


class Network(Task[ForwardPass, NetworkOperands, NetworkVariant]):
    """The forward pass of a batch."""

    problem = ForwardPass
    variants = NETWORK_VARIANTS
    heading = "Stages of the network (`python main.py network`)"

    def expected_launch_s(self, job: "NetworkJob", device: DeviceInfo) -> float:
        """Estimate one launch, seconds: a core makes 0.5 G multiply-adds per second."""
        multiply_adds = job.problem.multiply_adds
        per_second = INTERPRETED_PER_S if device.key == SIMULATOR else 1e10 if device.kind == "cuda" else 5e8
        return 1.0 + multiply_adds / per_second

    def allocate(self, backend: Backend, job: "NetworkJob", host_out: object = None) -> Buffers:
        """Return buffers for the drawings and the scores."""
        scores = job.problem.batch, CLASSES
        pinned = job.variant.pinned_drawings
        return backend.allocate_arrays((job.operands.maps,), scores, pinned=pinned)

    def upload(self, backend: Backend, operands: NetworkOperands, buffers: Buffers) -> None:
        """Copy the drawings to the device."""
        backend.upload((operands.maps,), buffers)

    def verify(self, values: Any, job: "NetworkJob", checkpoint: Callable[[float], None]) -> "Verification":
        """Compare the scores with those of float64."""
        # Loaded by the first proof.
        from engine.tasks.network.agreement import verify

        operands = job.operands
        how: dict[str, Any] = {"seed": job.seed, "affordable": job.affordable, "checkpoint": checkpoint}
        how["roundings"] = job.variant.roundings
        return verify(values, operands.drawings, operands.weights, job.problem, **how)

    def constant(self, operands: NetworkOperands) -> Weights:
        """Return the weights."""
        return operands.weights

    def refuse_operands(self, variant: NetworkVariant, operands: NetworkOperands) -> None:
        """Refuse a batch that memory cannot hold."""
        refuse_too_large(ForwardPass(len(operands.drawings)))

    def labels(self, job: "NetworkJob") -> dict[str, object]:
        """Return the digest of the weights."""
        return {"weights_digest": job.operands.weights.digest}


NetworkJob = Job[ForwardPass, NetworkOperands, NetworkVariant]
NETWORK = Network()


def network_job(
    stage: NetworkVariant,
    drawings: np.ndarray,
    weights: Weights,
    *,
    block: Block | None = None,
    seed: int = 0,
    affordable: int | None = None,
) -> NetworkJob:
    """Return the job of passing drawings (batch, 28, 28), float32, through the network."""
    problem = ForwardPass(len(drawings))
    operands = NetworkOperands(drawings, weights)
    return Job(
        NETWORK, stage, block or stage.default_block, problem, operands, seed=seed, affordable=affordable
    )
