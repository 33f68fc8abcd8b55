import pytest

from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import blocks_along, refuse_block


@pytest.mark.parametrize(
    ("block", "words", "nearest"),
    [
        (Block(0, 8), "has no threads", Block(1, 8)),
        (Block(-3, 4), "has no threads", Block(1, 4)),
        (Block(64, 32), "has 2,048 threads; the limit is 1,024", Block(64, 16)),
        (Block(33, 33), "has 1,089 threads; the limit is 1,024", Block(32, 32)),
        (Block(99999, 99999), "too wide; the limit is 1024", Block(1024, 1)),
        (Block(1, 2000), "too high; the limit is 1024", Block(1, 1024)),
    ],
)
def test_that_what_is_no_block_is_refused_with_the_nearest_one(
    block: Block, words: str, nearest: Block
) -> None:
    refused = refuse_block(block, Limits())
    assert refused is not None
    assert words in refused.reason
    assert refused.nearest_block == nearest


@pytest.mark.parametrize("block", [Block(1, 1), Block(32, 32), Block(1024, 1), Block(7, 3)])
def test_that_a_block_is_not_refused(block: Block) -> None:
    assert refuse_block(block, Limits()) is None


@pytest.mark.parametrize(
    "limits", [Limits(max_threads=512), Limits(max_block_x=16), Limits(max_block_y=16)], ids=str
)
def test_that_every_limit_of_the_device_counts(limits: Limits) -> None:
    assert refuse_block(Block(32, 32), limits) is not None


@pytest.mark.parametrize(("length", "blocks"), [(1, 1), (15, 1), (16, 1), (17, 2), (32, 2), (33, 3)])
def test_that_the_last_block_may_hang_over(length: int, blocks: int) -> None:
    assert blocks_along(length, 16) == blocks
