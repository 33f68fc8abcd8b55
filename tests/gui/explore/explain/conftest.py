"""Tiles of blocks as they run."""

import numpy as np
import pytest

from engine.explain.tiles import tile_plans
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.task import Job
from engine.work.filter_task import FILTERING
from engine.work.filtering.variants import variant
from engine.work.pictures import Operands
from engine.work.problem import Problem


@pytest.fixture
def tile_of():
    """Return a function that gives the tiles of a variant's block."""

    def tiles(key, block, at=(0, 0), mask=(1, 5), size=(1, 32), border=Border.ZERO, channels=1):
        anchor = mask[0] // 2, mask[1] // 2
        problem = Problem(*size, channels, mask_shape=mask, anchor=anchor, border=border)
        samples = np.zeros((*size, channels), np.float32)
        operands = Operands(samples, Mask(np.ones(mask)))
        return tile_plans(Job(FILTERING, variant(key), Block(*block), problem, operands), at)

    return tiles
