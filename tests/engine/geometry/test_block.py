import pytest

from engine.errors import BadValue
from engine.geometry.block import Block


@pytest.mark.parametrize(
    "text", ["32x8", "32 x 8", " 32X8 ", "32×8", "32*8", "32, 8"]
)  # fmt: skip
def test_that_a_block_is_read_in_the_ways_people_write_it(text: str) -> None:
    assert Block.parse(text) == Block(32, 8)


def test_that_a_block_is_written_as_it_is_read() -> None:
    assert Block.parse(str(Block(33, 3))) == Block(33, 3)
    assert Block(33, 3).threads == 99


def test_that_a_block_of_no_threads_is_read_because_the_device_decides() -> None:
    assert Block.parse("0x-4") == Block(0, -4)


@pytest.mark.parametrize("text", ["", "16", "16x", "axb", "16x16x16", "1.5x2", "16 16", "-x1"])
def test_that_anything_else_is_refused_with_how_to_write_it(text: str) -> None:
    with pytest.raises(BadValue, match=r"not two whole numbers with an x between them\. Write it as 16x16\."):
        Block.parse(text)


@pytest.mark.parametrize("text", ["99999999999999999999x1", "1x9999999999", f"{'9' * 5000}x1"], ids=len)
def test_that_more_digits_than_any_block_has_are_called_too_large(text: str) -> None:
    with pytest.raises(
        BadValue, match=r"it is too large; CUDA allows at most 1,024 threads per block\. Write"
    ):
        Block.parse(text)
