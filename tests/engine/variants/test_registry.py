"""The registry and its documents; plans and refusals of every variant: pure functions of plain integers."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from engine.device.launches import DeviceKind
from engine.errors import UnknownName
from engine.geometry.block import MAX_GRID_Y, Block, Limits, nearest_legal
from engine.mask.mask import Mask
from engine.tasks.product.problem import MATMUL_VARIANTS, matmul_variant
from engine.variants.fast import digit_sums
from engine.variants.fast.digit_sums import digits_of
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.cases import problem_of
from tests.engine.variants.emitted import RANDOM, refused
from tests.engine.variants.suited import mask_for, typed


def test_that_every_variant_has_names_of_its_own():
    for known in (VARIANTS, MATMUL_VARIANTS):
        assert len({one.key for one in known}) == len({one.title for one in known}) == len(known)
        assert all(one.title and one.idea.endswith(".") for one in known)


def test_that_the_chooser_links_every_variant_to_its_section():
    documents, sections = Path(__file__).parents[3] / "docs", {}
    for page in sorted((documents / "variants").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for key, section in re.findall(r"(?ms)^## `([a-z0-9-]+)`$(.*?)(?=^## |\Z)", text):
            assert key not in sections, f"{key}: two sections"
            sections[key] = f"variants/{page.name}#{key}{section}"
    chooser = (documents / "variants.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| \[`([a-z0-9-]+)`\]\((\S+)\)", chooser)
    keys = [known.key for known in (*VARIANTS, *MATMUL_VARIANTS)]
    missing = [key for key in keys if key not in dict(rows)]
    assert not missing, f"write a row for {', '.join(missing)} in docs/variants.md"
    missing = [key for key in keys if key not in sections]
    assert not missing, f"write a section `## {missing[0]}` in the page of its family in docs/variants"
    assert [key for key, _ in rows] == keys, "the rows of docs/variants.md stand in teaching order"
    assert sections.keys() == dict(rows).keys()
    assert [link for key, link in rows if not sections[key].startswith(f"{link}\n")] == []
    for known in VARIANTS:
        assert "```" in sections[known.key], f"{known.key}: no drawing"
        assert re.search(r"(?m)^Work\b", sections[known.key]), f"{known.key}: no work formula"


def test_that_an_unknown_variant_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match=r"variant 'tilde'.*Did you mean tiled\?.*cpu-serial"):
        variant("tilde")
    with pytest.raises(UnknownName, match=r"variant 'matmul-tield'.*Did you mean matmul-tiled\?.*numpy"):
        matmul_variant("matmul-tield")


CUDA = [known for known in VARIANTS if known.has_kernels]
CPU = [known for known in VARIANTS if known.device is DeviceKind.CPU]
LIMITS = Limits()
# One thread per result, along columns and rows; the others have plans and tests of their own.
PLAIN = [variant(key) for key in ("naive", "tiled", "cached")]
every_plain_variant = pytest.mark.parametrize("known", PLAIN, ids=lambda known: known.key)


def test_that_the_grid_covers_the_picture_without_an_idle_block():
    for known in [*PLAIN, variant("tiled-input")]:
        mask, blocks = Mask(np.ones((3, 5))), (Block(1, 1), Block(8, 4), Block(33, 3), Block(1024, 1))
        for block, (height, width) in itertools.product(blocks, ((1, 1), (4, 8), (5, 9), (97, 31))):
            input_tile = Block(block.x + 4, block.y + 2)
            threads = input_tile if known.block_covers_input else block
            (launch,) = known.plan(problem_of(height, width, mask, 3), threads)
            across, down, deep = launch.grid
            assert (across - 1) * block.x < width <= across * block.x
            assert (down - 1) * block.y < height <= down * block.y
            assert deep == 3
            assert launch.block == (threads.x, threads.y, 1)
            cells = {"naive": 0, "cached": block.threads}.get(known.key, input_tile.threads)
            assert launch.shared_bytes == 4 * cells


def test_that_a_cpu_variant_knows_no_block():
    for known in CPU:
        mask = Mask(np.ones((63, 63)))
        assert known.plan(problem_of(5, 5, mask), Block(16, 16)) == ()
        assert known.unsupported(problem_of(5, 5, mask), mask, Block(0, 0), LIMITS) is None
        assert not known.uses_block


def test_that_an_illegal_block_is_refused_with_a_legal_one():
    for known in [v for v in CUDA if v.uses_block]:
        mask = mask_for(known, 3, 3)
        problem = problem_of(50, 50, mask)
        illegal = {
            Block(2048, 1): "too wide",
            Block(1, 2048): "too high",
            Block(64, 32): "2,048 threads; the limit",
        }
        illegal |= dict.fromkeys((Block(0, 16), Block(16, 0), Block(-3, 4)), "no threads")
        for block, words in illegal.items():
            refusal = known.unsupported(problem, mask, block, LIMITS)
            assert words in str(refusal)
            assert known.unsupported(problem, mask, refusal.nearest_block, LIMITS) is None
            assert refusal.remedy == f"The nearest legal block is {refusal.nearest_block}."


def test_that_the_default_block_is_legal():
    for known in CUDA:
        side = min(15, math.isqrt(known.most_cells))
        mask = mask_for(known, side, side)
        problem = typed(known, problem_of(100, 100, mask))
        assert known.unsupported(problem, mask, known.default_block, LIMITS) is None


def brute_force(block, limits, shared_bytes, least):
    """Return the distance of the nearest legal block, all of them tried."""

    def ratio(a, b):
        return max(a, b) / min(a, b)

    return min(
        ratio(x, max(block.x, 1)) * ratio(y, max(block.y, 1))
        for y in range(least.y, limits.max_block_y + 1)
        for x in range(least.x, limits.max_block_x + 1)
        if x * y <= limits.max_threads and shared_bytes(Block(x, y)) <= limits.shared_bytes
    )


@pytest.mark.parametrize(
    "block", [Block(0, 9), Block(13, 7), Block(70, 70), Block(3, 64), Block(64, 1)], ids=str
)
def test_that_the_nearest_legal_block_is_the_nearest_of_all(block):
    def shared_bytes(candidate):
        return (candidate.x + 2) * (candidate.y + 4) * 4

    for least, shared_limit in itertools.product((Block(1, 1), Block(1, 5), Block(5, 1)), (200, 900, 4096)):
        limits = Limits(max_threads=96, max_block_x=64, max_block_y=48, shared_bytes=shared_limit)
        nearest = nearest_legal(block, limits, shared_bytes, least)
        assert nearest.threads <= 96
        assert nearest.x >= least.x
        assert nearest.y >= least.y
        assert shared_bytes(nearest) <= shared_limit
        distance = max(nearest.x, block.x or 1) / min(nearest.x, block.x or 1)
        distance *= max(nearest.y, block.y) / min(nearest.y, block.y)
        assert distance == brute_force(block, limits, shared_bytes, least)


@every_plain_variant
def test_that_a_grid_too_high_for_cuda_is_refused_with_a_block_that_makes_it_lower(known):
    for block in [Block(1024, 1), Block(2048, 1), Block(32, 8), Block(0, 0)]:
        for side in [3, 63]:
            mask = Mask(np.ones((side, side)))
            problem = problem_of(1 << 24, 8, mask)
            refusal = known.unsupported(problem, mask, block, LIMITS)
            if block == Block(32, 8):
                assert "16,777,216 rows need 2,097,152 blocks of 32 × 8 down; CUDA allows 65,535" in str(
                    refusal
                )
            if refusal.nearest_block is None:
                # 257 rows of threads and 62 of halo are too much for any width of this tile.
                assert (known.key, side) == ("tiled", 63)
                return
            assert known.unsupported(problem, mask, refusal.nearest_block, LIMITS) is None
            (launch,) = known.plan(problem, refusal.nearest_block)
            assert launch.grid[1] <= MAX_GRID_Y
            # The highest grid is allowed, and one row more is not.
            assert known.unsupported(problem_of(MAX_GRID_Y * 4, 3, mask), mask, Block(8, 4), LIMITS) is None
            refusal = known.unsupported(problem_of(MAX_GRID_Y * 4 + 1, 3, mask), mask, Block(8, 4), LIMITS)
            assert refusal.nearest_block == Block(8, 5)


def test_that_the_block_of_the_request_does_not_matter():
    for known in [v for v in VARIANTS if v.has_kernels and not v.uses_block]:
        mask = mask_for(known, 9, 9)
        problem = typed(known, problem_of(40, 300, mask))
        assert known.plan(problem, Block(7, 3)) == known.plan(problem, known.default_block)
        assert not refused(known, problem, mask, block=Block(0, 0))


def test_that_masks_of_one_shape_share_a_kernel():
    known, masks = variant("digit-sums"), [Mask(RANDOM.standard_normal((9, 9))) for _ in range(3)]
    problem = typed(known, problem_of(500, 700, masks[0]))
    found = [known.passes(problem, mask, known.default_block)[0] for mask in masks]
    assert len({id(step.kernel) for step in found}) == len({step.signature for step in found}) == 1
    assert [step.arguments[2] for step in found] == [digits_of(mask).count for mask in masks]
    assert digit_sums.kernel.cache_info().maxsize == 64
