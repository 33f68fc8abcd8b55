"""Blocks and lists of them, borders and layouts."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadValue, UnknownName
from engine.geometry.block import (
    MOST_BLOCKS,
    ROW_BYTES,
    Block,
    Layout,
    Limits,
    blocks_along,
    blocks_text,
    every_block,
    read_blocks,
    refuse_block,
)
from engine.geometry.border import Border


def test_that_a_block_is_read_in_the_ways_people_write_it():
    for text in ["32x8", "32 x 8", " 32X8 ", "32×8", "32*8", "32, 8", str(Block(32, 8))]:
        assert Block.parse(text) == Block(32, 8)
        assert Block.parse(text).threads == 256
        # Whether a block has threads is for the device to check.
        assert Block.parse("0x-4") == Block(0, -4)


def test_that_anything_else_is_refused_with_how_to_write_it():
    why = r"not two whole numbers with an x between them\. Write it as 16x16\."
    for text in ["", "16", "16x", "axb", "16x16x16", "1.5x2", "16 16", "-x1"]:
        with pytest.raises(BadValue, match=why):
            Block.parse(text)
    too_large = r"it is too large; CUDA allows at most 1,024 threads per block\. Write"
    for text in ("99999999999999999999x1", "1x9999999999", f"{'9' * 5000}x1"):
        with pytest.raises(BadValue, match=too_large):
            Block.parse(text)


def test_that_an_illegal_block_is_refused_with_the_nearest_one():
    for block, words, nearest in [
        (Block(0, 8), "has no threads", Block(1, 8)),
        (Block(-3, 4), "has no threads", Block(1, 4)),
        (Block(64, 32), "has 2,048 threads; the limit is 1,024", Block(64, 16)),
        (Block(33, 33), "has 1,089 threads; the limit is 1,024", Block(32, 32)),
        (Block(99999, 99999), "too wide; the limit is 1024", Block(1024, 1)),
        (Block(1, 2000), "too high; the limit is 1024", Block(1, 1024)),
    ]:
        refused = refuse_block(block, Limits())
        assert refused is not None
        assert words in str(refused)
        assert refused.nearest_block == nearest


def test_that_a_block_is_refused_by_each_limit_alone():
    for block in (Block(1, 1), Block(32, 32), Block(1024, 1), Block(7, 3)):
        assert refuse_block(block, Limits()) is None, block
    for limit in ("max_threads", "max_block_x", "max_block_y"):
        assert refuse_block(Block(32, 32), Limits(**{limit: 16})) is not None, limit

    # The last block may hang over.
    assert [blocks_along(length, 16) for length in (1, 15, 16, 17, 32, 33)] == [1, 1, 1, 2, 2, 3]


# How NumPy is asked for the same, where it can be.
NUMPY_PAD = {
    Border.ZERO: {"constant_values": -1}, Border.CONSTANT: {"constant_values": -1},
    Border.REPLICATE: {"mode": "edge"}, Border.REFLECT: {"mode": "symmetric"},
    Border.MIRROR: {"mode": "reflect"}, Border.WRAP: {"mode": "wrap"},
}  # fmt: skip
NAMES = {border.value for border in Border}
FAR = 40


def test_that_a_rule_is_what_numpy_pad_does_far_outside():
    for border in NUMPY_PAD:
        for length in range(1, 8):
            wanted = np.pad(np.arange(length), FAR, **NUMPY_PAD[border])
            assert [border.rule(index, length) for index in range(-FAR, length + FAR)] == wanted.tolist()


def test_that_a_border_is_found_by_its_name_and_another_is_refused_with_ours():
    for border in Border:
        assert Border.named(border.value) is border
        assert Border.named(border) is border
        assert border.sentence.endswith(".")
        assert border.has_ghost_cells == (border in (Border.ZERO, Border.CONSTANT))
    for name, words in [
        ("edge", rf"border 'edge'.*{', '.join(Border)}\."),
        ("BORDER_REFLECT_101", "What OpenCV calls BORDER_REFLECT_101 is mirror here. Choose one of zero"),
        ("cv2.BORDER_DEFAULT", "What OpenCV calls cv2.BORDER_DEFAULT is mirror here. Choose one of zero"),
        ("Mirror", r"border 'Mirror'.*Did you mean mirror\?"),
        (4, r"border '4'.*A border is given by its name\. Choose one of zero"),
    ]:
        with pytest.raises(UnknownName, match=words):
            Border.named(name)


def test_that_every_foreign_name_of_the_table_in_the_docs_is_answered_as_it_says():
    glossary = (Path(__file__).parents[3] / "docs/glossary.md").read_text(encoding="utf-8")
    table = [line.strip("| ").split(" | ") for line in glossary.splitlines() if line.startswith("| `")]
    rows = {row[0].strip("`"): row[2:] for row in table if row[0].strip("`") in NAMES}
    # A border that no other library has is in no row.
    assert rows.keys() >= {border.value for border in Border if border.elsewhere}
    asked = set()
    for own, others in rows.items():
        for name in (cell.split(",")[0].strip("*") for cell in others):
            # Zero is the constant border whose constant is 0.
            meant = "constant" if own == "zero" else own
            if name not in NAMES:
                asked.add(name)
                with pytest.raises(UnknownName, match=rf"calls {name} is {meant} here\."):
                    Border.named(name)
    assert asked >= {"nearest", "grid-wrap", "BORDER_REFLECT_101", "edge", "symmetric"}


def test_that_pitched_rows_end_on_a_boundary_and_a_layout_is_found_by_its_name_alone():
    for width in [1, 31, 32, 33, 127, 128, 1001, 1024]:
        for channels, itemsize in itertools.product(range(1, 5), (1, 2, 4)):
            pixels = Layout.PITCHED.row_pixels(width, channels, itemsize)
            rows = range(width, pixels + 1)
            assert [one for one in rows if one * channels * itemsize % ROW_BYTES == 0] == [pixels]
            assert Layout.PACKED.row_pixels(width, channels, itemsize) == width
    assert Layout.named("packed") is Layout.named(Layout.PACKED) is Layout.PACKED
    with pytest.raises(UnknownName, match=r"layout 'dense'.*Choose one of pitched, packed"):
        Layout.named("dense")


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


def test_that_a_block_that_is_there_twice_is_run_once_and_too_many_are_refused():
    blocks, note = read_blocks("8x8, 16x16, 8 × 8")
    assert blocks == (Block(8, 8), Block(16, 16))
    assert note == "8 × 8: in the list twice, and run once. Write each block once."
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
