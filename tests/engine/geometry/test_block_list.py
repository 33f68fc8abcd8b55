import pytest

from engine.errors import BadValue
from engine.geometry.block import (
    MOST_BLOCKS,
    Block,
    Limits,
    blocks_text,
    every_block,
    read_blocks,
    refuse_block,
)


def test_that_a_list_is_read_however_it_is_parted():
    blocks = (Block(8, 8), Block(16, 16), Block(32, 8))
    for text in ("8x8, 16x16, 32x8", " 8 X 8;16 x 16 ,32×8,", "8*8 16*16 32*8"):
        assert read_blocks(text) == (blocks, ""), text
    assert read_blocks(blocks_text(blocks)) == (blocks, "")
    for empty in ("", "  ", ",;"):
        assert read_blocks(empty) == ((), "")


def test_that_a_wrong_list_is_refused_in_one_line():
    for text, says in [
        ("8x", "block '8x': it is not two whole numbers with an x between them. Write it as 16x16."),
        ("16x16, 8", "block '8': it is not two whole numbers"),
        ("0x8", "A block of 0 × 8 has no threads; each side must be at least 1. The nearest"),
        ("8x8, 33x33", "A block of 33 × 33 has 1,089 threads; the limit is 1,024 threads per block."),
        ("33x33", "The nearest legal block is 32 × 32."),
        ("2048x1", "A block of 2048 × 1 is too wide; the limit is 1024 threads across."),
        ("-8x8", "A block of -8 × 8 has no threads"),
        ("8x8x8", "block '8x8x8'"),
        ("9" * 5000 + "x1", "block '999999999999999999999999…'"),
        ("all, 8x8", "block 'all'"),
    ]:
        with pytest.raises(BadValue) as refused:
            read_blocks(text)
        line = str(refused.value)
        assert says in line
        assert line.endswith(".")
        assert "\n" not in line
        assert len(line) < 200


def test_that_a_block_that_is_there_twice_is_run_once():
    blocks, note = read_blocks("8x8, 16x16, 8 × 8")
    assert blocks == (Block(8, 8), Block(16, 16))
    assert note == "8 × 8: in the list twice, and run once. Write each block once."


def test_that_too_many_blocks_are_refused():
    many = ", ".join(f"{x}x{y}" for x in range(1, 18) for y in range(1, 18))
    with pytest.raises(BadValue, match=f"289 blocks: at most {MOST_BLOCKS}"):
        read_blocks(many)


def test_that_all_is_every_legal_block_with_sides_of_powers_of_two():
    blocks = every_block()
    assert len(blocks) == 66
    assert read_blocks(" All ") == (blocks, "")
    assert blocks_text(blocks) == "all"
    assert all(refuse_block(block, Limits()) is None for block in blocks)
    assert {block.threads for block in blocks} == {1 << power for power in range(11)}
    assert blocks[0] == Block(1, 1)
