"""What each variant refuses, in which words, and the block or the variant that would do."""

import re

import numpy as np

from engine.geometry.block import MAX_GRID_Y, Block, Limits
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import MAX_LINE, Mask
from engine.work.filtering.variants import VARIANTS, variant
from tests.engine.variants.cases import problem_of

RANDOM = np.random.default_rng(11)
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
