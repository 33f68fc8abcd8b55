"""Tiles of blocks as they run."""

import numpy as np
import pytest

from engine.explain.tiles.tile_plans import tile_plans
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import variant


@pytest.fixture
def tile_of():
    """Return a function that gives the tiles of a variant's block."""

    def tiles(key, block, at=(0, 0), mask=(1, 5), size=(1, 32), border=Border.ZERO, channels=1):
        anchor = mask[0] // 2, mask[1] // 2
        problem = Problem(*size, channels, mask_shape=mask, anchor=anchor, border=border)
        return tile_plans(variant(key), problem, Mask(np.ones(mask)), Block(*block), at)

    return tiles
