import pytest

from engine.block import Block, Limits
from engine.machine import DeviceInfo
from gui.state.block_check import refused_everywhere


@pytest.mark.parametrize(
    ("block", "word", "nearest"),
    [
        (Block(0, 8), "no threads", Block(1, 8)),
        (Block(-3, 4), "no threads", Block(1, 4)),
        (Block(64, 32), "2,048 threads", Block(64, 16)),
        (Block(33, 33), "1,089 threads", Block(32, 32)),
        (Block(99999, 99999), "threads", Block(1024, 1)),
    ],
)
def test_that_what_is_no_block_is_refused_with_the_nearest_one(
    block: Block, word: str, nearest: Block
) -> None:
    refused = refused_everywhere(block, ())
    assert refused is not None
    assert word in refused.reason
    assert refused.nearest_block is not None
    assert refused.nearest_block.threads <= Limits().max_threads
    assert refused.nearest_block == nearest


@pytest.mark.parametrize("block", [Block(1, 1), Block(32, 32), Block(1024, 1), Block(7, 3)])
def test_that_a_block_is_not_refused(block: Block) -> None:
    assert refused_everywhere(block, ()) is None


def test_that_the_limits_are_those_of_the_gpu() -> None:
    gpu = DeviceInfo("cuda:0", "cuda", "GPU", True, "", True, limits=Limits(max_threads=512))
    assert refused_everywhere(Block(32, 32), (gpu,)) is not None
