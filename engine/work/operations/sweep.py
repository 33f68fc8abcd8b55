"""Jobs of an operation on random pictures: every size with every variant, block and layout."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.run.sweep import ONE_LAYOUT, ways
from engine.run.task import Job
from engine.work.operations.find_patch import patch_from
from engine.work.operations.request import OperationRequest
from engine.work.operations.resolve import resolved_operands
from engine.work.operations.table import operation_named
from engine.work.operations.task import OPERATION, OperationJob
from engine.work.operations.variants import OperationVariant
from engine.work.pictures import random_picture


def operation_jobs(
    operation: str,
    settings: dict[str, Any],
    variants: Sequence[OperationVariant],
    sizes: Sequence[tuple[int, int]],
    *,
    blocks: Sequence[Block] = (),
    layouts: Sequence[Layout] = ONE_LAYOUT,
    channels: int = 3,
    dtype: str = "uint8",
    seed: int = 0,
) -> Iterator[OperationJob]:
    """Return every job, in order of sizes, variants, blocks, layouts; sizes are width x height.

    Raises BadValue for a picture that has no such result, UnknownName for an unknown operation or parameter,
    before the first job is made: what is measured by then would be lost.
    """
    known = operation_named(operation)
    parameters = known.read(settings)
    for width, height in sizes:
        # The shape alone: it takes no memory.
        shaped = np.broadcast_to(np.zeros((), dtype), (height, width, channels))
        known.problem(shaped, parameters)
        if known.takes_patch:
            patch_from(shaped, parameters)

    def jobs() -> Iterator[OperationJob]:
        asked = OperationRequest(operation=operation, settings=settings)
        for width, height in sizes:
            samples = random_picture((height, width, channels), dtype, seed)
            _, problem, operands = resolved_operands(asked, samples)
            for variant, block, layout in ways(variants, blocks, layouts):
                yield Job(OPERATION, variant, block, problem, replace(operands, layout=layout), seed=seed)

    return jobs()
