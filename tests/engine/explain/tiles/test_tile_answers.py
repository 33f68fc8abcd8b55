"""The tile of a block as the window asks for it: any kernel, any block, also without a GPU."""

import pytest

from engine.explain.launch import launches
from engine.explain.messages import TileRequest
from engine.explain.tiles import answers
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.work.filtering.variants import VARIANTS, MaskClass
from tests.picture_jobs import mask_job


def described(picture, key, at=None, **fields):
    fields = {"mask": gaussian(5), "border": Border.ZERO} | fields
    job = mask_job(picture=picture, variant=key, **fields)
    return answers.describe(TileRequest(job, at), lambda step: None)


@pytest.mark.slow
def test_that_every_kernel_is_described_or_says_why_not(picture):
    for known in [v for v in VARIANTS if v.has_kernels]:
        mask = Mask([[1.0] * 5]) if known.masks is MaskClass.ONE_ROW else gaussian(5)
        found = described(picture, known.key, mask=mask)
        assert found.variant == known.key
        assert bool(found.tiles) != bool(found.reason)
        for plan in found.tiles:
            assert plan.loaders.shape == plan.steps.shape
            assert plan.loads or plan.direct_reads


def test_that_any_block_can_be_shown(picture):
    found = described(picture, "tiled", block=Block(16, 8))
    assert (found.grid, found.at) == ((13, 17), (1, 1))
    assert not found.tiles[0].ghosts.any()
    corner = described(picture, "tiled", (0, 0), block=Block(16, 8))
    assert corner.tiles[0].ghosts.sum() == 20 * 2 + 10 * 2
    # A block that the grid has no longer, after another picture or block was chosen.
    assert described(picture, "tiled", (99, 99), block=Block(16, 8)).at == (12, 16)


def test_that_where_there_is_no_tile_the_reason_is_said(picture):
    found = described(picture, "tiled", block=Block(64, 64))
    assert "4,096 threads; the limit is 1,024" in found.reason
    assert "The nearest legal block is 64 × 16." in found.reason
    assert not found.tiles
    assert "no blocks of threads" in described(picture, "cpu-serial").reason
    # A library's, and it may not be installed.
    assert described(picture, "fft").reason
    assert "mask of one row" in described(picture, "row-tiled").reason


def test_that_where_nothing_is_compiled_the_reason_is_said(picture, monkeypatch):
    monkeypatch.setattr(launches, "missing", "numba-cuda is not installed")
    found = described(picture, "tiled")
    assert not found.tiles
    assert "numba-cuda is not installed" in found.reason
