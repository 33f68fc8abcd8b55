"""The registry and its documents; plans of every variant, what it refuses, and what would do."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from engine.device.launches import DeviceKind
from engine.errors import UnknownName
from engine.geometry.block import MAX_GRID_Y, Block, Limits, UnsupportedVariant, nearest_legal
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import MAX_LINE, Mask
from engine.mask.presets import preset
from engine.tasks.product.problem import MATMUL_VARIANTS, matmul_variant
from engine.variants.fast import digit_sums
from engine.variants.fast.digit_sums import digits_of
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.case_lists import mask_for, typed
from tests.engine.variants.cases import problem_of
from tests.engine.variants.emitted import RANDOM, refused


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
    assert [key for key, _ in rows] == keys, "the rows of docs/variants.md are in teaching order"
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
            words = "16,777,216 rows need 2,097,152 blocks of 32 × 8 down; CUDA allows 65,535"
            assert words in str(refusal) or block != Block(32, 8)
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


BYTES = {"dtype": "uint8", "result_dtype": "uint8"}
LITTLE, OLD = {"limits": Limits(shared_bytes=4096)}, {"limits": Limits(compute_capability=(7, 5))}


def ones(rows, columns, anchor=None):
    return Mask(np.ones((rows, columns)), anchor)


def noise(rows, columns, scale=1.0):
    return Mask(RANDOM.standard_normal((rows, columns)) * scale)


def refusal(key, mask, block=None, limits=None, size=(50, 60), **others):
    known = variant(key)
    problem = problem_of(*size, mask, **((BYTES if known.uint8_only else {}) | others))
    return known.why_not(problem, mask, block or known.default_block, limits or Limits(), VARIANTS)


SEPARABLE = ("separable-l0", "separable-l1", "separable-l2")
# (variant, words of the reason, mask, what is asked for; "nearest" is the block that is offered, "instead" a
# variant that is named and takes the mask)
REFUSED = [
    ("tiled", "needs 83,952 bytes of shared memory for its tile; a block has 49,152", ones(63, 63),
     {"block": Block(256, 4), "nearest": Block(124, 4)}),
    ("tiled", "one of:.*digit-sums", ones(3, 3), BYTES),
    ("tiled", "one of:(?!.*digit-sums)", ones(3, 3), {"dtype": "uint16", "result_dtype": "uint16"}),
    ("tiled", "a block has 1,000", ones(63, 63), {"block": Block(8, 8), "limits": Limits(shared_bytes=1000)}),
    *(("tiled-input", f"for its {rows} × {columns} cells the block.*at least {columns} wide and {rows} high",
       ones(rows, columns), {"block": block, "nearest": nearest})
      for rows, columns, block, nearest in (
          (5, 5, Block(4, 32), Block(5, 32)), (5, 5, Block(32, 4), Block(32, 5)),
          (1, 127, Block(32, 32), Block(127, 8)), (32, 32, Block(16, 16), Block(32, 32)))),
    *(("tiled-input", f"{rows * columns:,} threads; the limit is 1,024 per block. Use tiled",
       ones(rows, columns), {"instead": "tiled"}) for rows, columns in ((63, 63), (32, 33))),
    ("tiled-input", "need 65,536 blocks of 8 × 6 down; CUDA allows 65,535", ones(3, 3),
     {"block": Block(8, 6), "size": (4 * MAX_GRID_Y + 1, 3), "nearest": Block(8, 7)}),
    # Too high for every block.
    ("tiled-input", "CUDA allows 65,535", ones(5, 5), {"block": Block(32, 32), "size": (1 << 24, 8)}),
    ("separable-l1", "258,048 bytes of shared memory for its tile; a block has 49,152", ones(63, 63),
     {"block": Block(1024, 1), "nearest": Block(195, 1)}),
    ("implicit-gemm", "needs 102,500 bytes of shared memory for its tile; a block has 49,152", ones(5, 5),
     {"block": Block(1024, 1), "nearest": Block(490, 1)}),
    ("implicit-gemm", "137,438,953,472 pixels need 2,147,483,648 blocks of 64 × 1 across; CUDA allows "
     "2,147,483,647", ones(1, 1),
     {"block": Block(64, 1), "size": (1 << 24, 1 << 13), "nearest": Block(65, 1)}),
    *((f"row-{wider}", f"^A 1-D kernel takes a mask of one row, and this one has {rows}. Take a mask of one "
       f"row, or {wider}, which does the same with a mask of several rows.$", ones(rows, columns),
       {"block": Block(256, 1), "instead": wider})
      for wider in ("naive", "constant", "tiled", "cached", "cached-constant")
      for rows, columns in ((2, 1), (63, 63))),
    ("naive-uncoalesced", "65,536 columns need 65,536 blocks of 256 × 1 along y, which counts columns in "
     "this kernel; CUDA allows 65,535.", ones(3, 3),
     {"block": Block(256, 1), "size": (9, 65_536), "nearest": Block(256, 2)}),
    ("row-tiled-constant", "takes a mask of one row.* or tiled, which does", ones(3, 3),
     {"block": Block(256, 1), "instead": "tiled"}),
    *((key, f"halo of this mask is {wider} cells wide.*a block of {wider - 1} × 3 has {wider - 1} "
       "threads across", ones(1, 9, (0, anchor)), {"block": Block(wider - 1, 3), "nearest": Block(wider, 3)})
      for key in ("row-tiled", "row-tiled-constant") for anchor, wider in ((4, 4), (0, 8), (8, 8), (6, 6))),
    *((key, "520,192 bytes of shared memory", ones(1, MAX_LINE),
       {"block": Block(1, 1024), "nearest": Block(63, 16)}) for key in ("row-tiled", "row-tiled-constant")),
    *((key, "65,536 rows need 65,536 blocks of 256 × 1 down; CUDA allows 65,535.", ones(1, 5),
       {"block": Block(256, 1), "size": (65_536, 9), "nearest": Block(256, 2)})
      for key in ("row-naive", "row-constant", "row-tiled", "row-cached", "row-tiled-constant",
                  "row-cached-constant")),
    *((key, f"{65_535 * rows + 1:,} rows need more blocks down than CUDA allows; it takes up to "
       f"{65_535 * rows:,}.", ones(side, side), {"size": (65_535 * rows + 1, 3), **types})
      for key, side, rows, types in (
          ("register-blocked", 3, 16, {}), ("register-blocked", 5, 24, BYTES), ("digit-sums", 3, 64, {}))),
    *(("register-blocked", f"A mask of {rows} × {columns}.*up to 31 rows and columns. Use tiled.",
       ones(rows, columns), {"instead": "tiled"})
      for rows, columns in ((32, 3), (3, 32), (63, 63), (1, 127))),
    *(("separable-fused", f"A mask of {rows} × {columns}.*up to 63 rows and columns. Use separable-l1 or "
       "separable-l0.", ones(rows, columns), {"instead": "separable-l1"})
      for rows, columns in ((64, 1), (1, 64), (127, 1))),
    *((key, words, mask, {}) for key in SEPARABLE for words, mask in (
        ("its rank is 2, and the best rank-1 approximation has 10 % error.*'tiled' and 'naive' take every",
         preset("laplacian-4")),
        ("only within the rounding of its largest weights.*column 2 is 0, and column",
         gaussian(31, sigma=1.0)))),
    ("cpu-separable", "its rank is 3.*cpu-parallel takes every mask", Mask(np.eye(3)), {}),
    ("separable-fused", "one column times one row", Mask(np.eye(3)), {}),
    ("box", "38,400 bytes of shared memory.*has 30,000", ones(63, 63),
     {"channels": 3, "limits": Limits(shared_bytes=30_000)}),
    ("register-blocked", "bytes of shared memory for its tile; a block has 4,096", ones(31, 31), LITTLE),
    ("separable-fused", "bytes of shared memory for its rows; a block has 4,096", gaussian(31), LITTLE),
    ("low-rank-2", "bytes of shared memory for its rows; a block has 4,096",
     Mask(gaussian(31).weights - gaussian(31, sigma=2.0).weights), LITTLE),
    *(("digit-sums", f"not {dtype} with {result} results", ones(3, 3),
       {"dtype": dtype, "result_dtype": result, "instead": "register-blocked"})
      for dtype, result in (("uint8", "float32"), ("uint16", "uint16"), ("float32", "float32"))),
    *(("digit-sums", "not a whole number from 0 to 255", ones(3, 3),
       {"border": Border.CONSTANT, "cval": cval, "instead": "register-blocked"})
      for cval in (0.5, -1.0, 256.0, float("nan"), float("inf"))),
    ("digit-sums", "143 cells", ones(11, 13), {"instead": "register-blocked"}),
    ("digit-sums", "shared memory.*register-blocked", ones(127, 1), {"channels": 3}),
    ("digit-sums", "shared memory.*register-blocked", ones(5, 5), LITTLE),
    ("digit-sums", "take 28 digits of 8 bit", Mask([[1e-30, 1.0, 1e30]]),
     {"instead": "register-blocked"}),
    ("digit-sums", "overflow", Mask([[1e37, 1.0, 0.0]]), {"instead": "register-blocked"}),
    ("digit-sums", "this device has 7.5", ones(3, 3), OLD | {"instead": "register-blocked"}),
]  # fmt: skip
DEVICES = [{"limits": Limits(compute_capability=capability)}
           for capability in ((8, 0), (8, 6), (9, 0), (10, 0), (12, 0), None)]  # fmt: skip
TAKEN = [
    *((key, ones(63, 63), {"block": block})
      for key in ("naive", "naive-uncoalesced", "constant", "tiled", "cached", "cached-constant")
      for block in (Block(1, 1), Block(32, 8))),
    # Rows are counted along x there, which CUDA allows more blocks for.
    ("naive-uncoalesced", ones(3, 3), {"block": Block(8, 6), "size": (8 * MAX_GRID_Y, 3)}),
    ("tiled-input", ones(3, 3), {"block": Block(8, 6), "size": (4 * MAX_GRID_Y, 3)}),
    *((key, ones(1, 9, (0, 4)), {"block": Block(3, 3)})
      for key in ("row-naive", "row-constant", "row-cached", "row-cached-constant")),
    *(("register-blocked", ones(side, side), {"size": (65_535 * rows, 3), **types})
      for side, rows, types in ((3, 16, {}), (5, 24, BYTES))),
    ("digit-sums", ones(3, 3), {"size": (65_535 * 64, 3)}),
    *(("digit-sums", ones(3, 3), device) for device in DEVICES),
    *(("digit-sums", ones(3, 3), {"border": Border.REFLECT, "cval": cval}) for cval in (0.5, float("nan"))),
    ("digit-sums", ones(3, 3), {"border": Border.CONSTANT, "cval": 255.0}),
    *(("digit-sums", ones(*shape), {})
      for shape in ((11, 11), (8, 16), (16, 8), (2, 63), (63, 2), (1, 127), (127, 1))),
    *(("digit-sums", ones(11, 11), {"channels": channels}) for channels in (2, 3, 4)),
    *(("digit-sums", mask, {}) for mask in (Mask(np.zeros((3, 3))), noise(5, 5, 1e-42))),
]  # fmt: skip


def test_that_what_cannot_be_done_is_refused_in_words_with_what_would_do():
    for key, words, mask, asked in REFUSED:
        wishes = {name: value for name, value in asked.items() if name not in ("nearest", "instead")}
        found, nearest, instead = refusal(key, mask, **wishes), asked.get("nearest"), asked.get("instead")
        assert re.search(words, str(found))
        assert found.nearest_block == nearest
        if nearest:
            assert found.remedy == f"The nearest legal block is {nearest}."
            assert refusal(key, mask, **wishes | {"block": nearest}) is None
        if instead:
            assert instead in str(found)
            assert refusal(instead, mask, **wishes | {"block": None}) is None


def test_that_what_can_just_be_done_is_not_refused():
    refused = [(key, mask, asked, refusal(key, mask, **asked)) for key, mask, asked in TAKEN]
    assert [case for case in refused if case[-1] is not None] == []


def test_that_a_mask_that_is_no_product_is_never_prepared():
    mask = Mask(np.eye(3))
    for key in (*SEPARABLE, "separable-fused", "cpu-separable"):
        known = variant(key)
        prepare = known.passes if known.has_kernels else known.prepare
        with pytest.raises(UnsupportedVariant, match=r"one column times one row|rank is 3"):
            prepare(problem_of(9, 9, mask), mask, known.default_block)
