"""Blocks side by side on a real device: what is not refused is right, and the best one is said."""

import pytest

from engine.commands.command_line import main
from engine.geometry.block import every_block
from engine.mask.generators import gaussian
from engine.run.measure import sweep
from engine.work.filtering.variants import VARIANTS
from engine.work.measuring import Sweep
from tests.picture_jobs import mask_request

WITH_BLOCKS = [known for known in VARIANTS if known.has_kernels and known.uses_block]


@pytest.mark.parametrize("known", WITH_BLOCKS, ids=lambda known: known.key)
def test_that_every_block_is_refused_with_a_reason_or_gives_the_right_result(device, known):
    # A mask of one row, which every variant takes, and one of rank 1.
    masks = [gaussian(1, 5, 1.0), gaussian(5, 5, 1.0)] if known.most_rows > 1 else [gaussian(1, 5, 1.0)]
    cells = Sweep(
        asked=[mask_request(mask=mask, device=device) for mask in masks],
        variants=[known],
        sizes=[(131, 67)],
        blocks=every_block(),
    )
    results, fault = sweep(cells.jobs(), device, 0.0)
    assert fault is None
    wrong = [f"{one.block}: {one.status}" for one in results if not one.is_proven and not one.refused]
    assert wrong == []
    assert sum(one.is_proven for one in results) >= 10


def test_that_the_best_block_is_said(device, capsys):
    arguments = ["--variants", "tiled,naive", "--sizes", "512", "--masks", "5", "--budget", "0.01"]
    blocks = ["--blocks", "8x8,16x16,32x4,32x8,1x1"]
    assert main(["bench", "--best", *arguments, *blocks, "--device", device]) == 0
    assert "best block" in capsys.readouterr().out
