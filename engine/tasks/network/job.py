"""The job of passing drawings through a network."""

import numpy as np

from engine.geometry.block import Block
from engine.run.task import Job
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.task import NETWORK, NetworkJob, NetworkOperands
from engine.tasks.network.variants import NetworkVariant
from engine.tasks.network.weights import Weights


def network_job(
    stage: NetworkVariant,
    drawings: np.ndarray,
    weights: Weights,
    *,
    block: Block | None = None,
    seed: int = 0,
    affordable: int | None = None,
) -> NetworkJob:
    """Return the job of passing drawings (batch, side, side), float32, through a network."""
    problem = ForwardPass(len(drawings), drawings.shape[1], *weights.sizes)
    operands = NetworkOperands(drawings, weights)
    return Job(
        NETWORK, stage, block or stage.default_block, problem, operands, seed=seed, affordable=affordable
    )
