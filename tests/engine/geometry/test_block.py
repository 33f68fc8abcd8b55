import pytest

from engine.errors import BadValue
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import blocks_along, refuse_block


@pytest.mark.parametrize("text", ["32x8", "32 x 8", " 32X8 ", "32×8", "32*8", "32, 8", str(Block(32, 8))])
def test_that_a_block_is_read_in_the_ways_people_write_it(text):
    assert Block.parse(text) == Block(32, 8)
    assert Block.parse(text).threads == 256
    # Whether a block has threads is for the device to check.
    assert Block.parse("0x-4") == Block(0, -4)


@pytest.mark.parametrize("text", ["", "16", "16x", "axb", "16x16x16", "1.5x2", "16 16", "-x1"])
def test_that_anything_else_is_refused_with_how_to_write_it(text):
    with pytest.raises(BadValue, match=r"not two whole numbers with an x between them\. Write it as 16x16\."):
        Block.parse(text)


@pytest.mark.parametrize("text", ["99999999999999999999x1", "1x9999999999", f"{'9' * 5000}x1"], ids=len)
def test_that_more_digits_than_any_block_has_are_called_too_large(text):
    too_large = r"it is too large; CUDA allows at most 1,024 threads per block\. Write"
    with pytest.raises(BadValue, match=too_large):
        Block.parse(text)


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
def test_that_an_illegal_block_is_refused_with_the_nearest_one(block, words, nearest):
    refused = refuse_block(block, Limits())
    assert refused is not None
    assert words in refused.reason
    assert refused.nearest_block == nearest


@pytest.mark.parametrize("block", [Block(1, 1), Block(32, 32), Block(1024, 1), Block(7, 3)], ids=str)
def test_that_a_legal_block_is_not_refused(block):
    assert refuse_block(block, Limits()) is None


@pytest.mark.parametrize("limit", ["max_threads", "max_block_x", "max_block_y"])
def test_that_every_limit_of_the_device_counts(limit):
    assert refuse_block(Block(32, 32), Limits(**{limit: 16})) is not None


def test_that_the_last_block_may_hang_over():
    assert [blocks_along(length, 16) for length in (1, 15, 16, 17, 32, 33)] == [1, 1, 1, 2, 2, 3]
