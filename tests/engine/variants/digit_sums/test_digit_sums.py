"""`digit-sums`: what it refuses, its work, its code, and its kernel for every mask of a shape."""

import re
from dataclasses import replace

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, missing
from engine.geometry.block import Limits
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering import oracle
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.planner import why_not
from engine.variants.digit_sums.digit_layout import chains_of
from engine.variants.digit_sums.digit_sums import VARIANT, digit_shape, kernel
from engine.variants.digit_sums.weight_digits import digits_of
from engine.variants.registry import VARIANTS
from tests.engine.variants.counting import count

RANDOM = np.random.default_rng(31)
BLOCK = VARIANT.default_block


def problem_of(mask, channels=1, **others):
    types = {"dtype": "uint8", "result_dtype": "uint8"} | others
    return Problem(500, 700, channels, mask_shape=mask.shape, anchor=mask.anchor, **types)


def refused(mask, limits=None, channels=1, **others):
    """Return the reason of a refusal, which names another variant; empty where there is none."""
    refusal = why_not(VARIANT, problem_of(mask, channels, **others), mask, BLOCK, limits or Limits())
    if refusal is None:
        return ""
    assert "register-blocked" in refusal.reason
    assert refusal.nearest_block is None
    return refusal.reason


ONES = Mask(np.ones((3, 3)))
CONSTANT = Border.CONSTANT


@pytest.mark.parametrize(
    ("sentence", "mask", "others"),
    [
        ("not uint8 with float32 results", ONES, {"result_dtype": "float32"}),
        ("not uint16 with uint16 results", ONES, {"dtype": "uint16", "result_dtype": "uint16"}),
        ("not float32 with float32 results", ONES, {"dtype": "float32", "result_dtype": "float32"}),
        *(
            ("no whole number from 0 to 255", ONES, {"border": CONSTANT, "cval": cval})
            for cval in (0.5, -1.0, 256.0, float("nan"), float("inf"))
        ),
        ("143 cells", Mask(np.ones((11, 13))), {}),
        ("in shared memory", Mask(np.ones((127, 1))), {"channels": 3}),
        ("in shared memory", Mask(np.ones((5, 5))), {"limits": Limits(shared_bytes=4096)}),
        ("so far apart that they take 28 digits", Mask([[1e-30, 1.0, 1e30]]), {}),
        ("overflow", Mask([[1e37, 1.0, 0.0]]), {}),
        ("this device has 7.5", ONES, {"limits": Limits(compute_capability=(7, 5))}),
        *(("", ONES, {"border": Border.REFLECT, "cval": cval}) for cval in (0.5, float("nan"))),
        ("", ONES, {"border": CONSTANT, "cval": 255.0}),
        *(
            ("", Mask(np.ones(shape)), {})
            for shape in ((11, 11), (8, 16), (16, 8), (2, 63), (63, 2), (1, 127), (127, 1))
        ),
        *(("", Mask(np.ones((11, 11))), {"channels": channels}) for channels in (2, 3, 4)),
        *(("", mask, {}) for mask in (Mask(np.zeros((3, 3))), Mask(RANDOM.standard_normal((5, 5)) * 1e-42))),
        *(
            ("", ONES, {"limits": Limits(compute_capability=capability)})
            for capability in ((8, 0), (8, 6), (9, 0), (10, 0), None)
        ),
    ],
    ids=str,
)
def test_that_only_bytes_small_masks_and_new_devices_are_taken(sentence, mask, others):
    said = refused(mask, **others)
    assert sentence in said
    assert bool(sentence) == bool(said)


def test_that_tiled_does_not_name_it_for_16_bits():
    tiled = next(known for known in VARIANTS if known.key == "tiled")
    for dtype, is_named in (("uint8", True), ("uint16", False)):
        refusal = why_not(tiled, problem_of(ONES, dtype=dtype, result_dtype=dtype), ONES, BLOCK, Limits())
        assert ("digit-sums" in refusal.reason) == is_named


def test_that_a_picture_higher_than_the_grid_is_refused():
    highest = replace(problem_of(ONES), height=65_535 * 64)
    assert VARIANT.unsupported(highest, ONES, BLOCK, Limits()) is None
    refusal = VARIANT.unsupported(replace(highest, height=65_535 * 64 + 1), ONES, BLOCK, Limits())
    assert "it takes up to 4,194,240." in refusal.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channels", "border", "shape"),
    [(1, Border.CONSTANT, (3, 4)), (3, Border.REFLECT, (3, 3)), (4, Border.ZERO, (2, 5))],
)
def test_that_the_model_counts_what_the_source_does_with_one_digit_and_results_are_rounded_exactly(
    channels, border, shape
):
    image = RANDOM.integers(0, 256, (7, 6, channels)).astype(np.uint8)
    # Halves: sums are exact, and some lie in the middle of two whole numbers.
    mask = Mask(RANDOM.integers(-3, 4, shape) / 2, anchor=(0, shape[1] - 1), offset=1.5)
    assert digits_of(mask).count == 1
    problem = replace(describe_problem(image, mask, border, 3.0), result_dtype="uint8")
    counts = count(VARIANT, problem, mask, BLOCK, image)
    model = VARIANT.work(problem, BLOCK)
    # At an edge only those cells are filled that a result reads; the model counts whole tiles.
    assert model.picture_loads >= counts.picture_loads > 0
    assert model.global_loads - model.picture_loads == counts.weight_loads
    assert model.shared_loads == counts.shared_loads
    assert model.shared_stores >= counts.shared_stores > 0
    assert model.constant_loads == counts.constant_loads == 0
    assert model.flops == 2 * counts.multiplications
    assert model.global_store_bytes == counts.out_stores
    exact = oracle.correlate(image, mask, border, 3.0)
    assert np.array_equal(counts.out, np.rint(np.clip(exact, 0, 255)).astype(np.uint8))


def test_that_masks_of_one_shape_share_a_kernel():
    masks = [Mask(RANDOM.standard_normal((5, 5))), Mask(np.ones((5, 5))), Mask(np.zeros((5, 5)))]
    found = [VARIANT.passes(problem_of(mask), mask, BLOCK)[0] for mask in masks]
    assert len({id(step.kernel) for step in found}) == 1
    assert len({step.signature for step in found}) == 1
    assert [step.arguments[2] for step in found] == [digits_of(mask).count for mask in masks]


@pytest.mark.slow
@pytest.mark.nvvm
@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
@pytest.mark.parametrize(
    ("shape", "channels"), [((3, 3), 1), ((5, 5), 1), ((11, 11), 1), ((5, 5), 3), ((3, 7), 4)]
)
def test_that_a_digit_takes_one_instruction_a_multiplication_and_samples_are_sorted_once(shape, channels):
    mask = Mask(np.ones(shape))
    work = digit_shape(shape, mask.anchor[1], channels)
    (step,) = VARIANT.passes(problem_of(mask, channels), mask, BLOCK)
    ptx, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=(9, 0))
    head, loop = ptx[: ptx.index("mma.sync")], ptx[ptx.index("mma.sync") :]
    # Of each channel a lone digit, then a pair of them.
    multiplications = channels * sum(len(chain.steps) for chain in chains_of(work))
    assert ptx.count(".u8.s8.s32") == 2 * multiplications
    assert ptx.count(".u8.u8.s32") == multiplications
    # A pair's and the offset's.
    assert ptx.count("fma.rn.f32") == 2 * work.across
    assert ptx.count("cvt.rn.f32.s32") == work.across
    assert ptx.count("cvt.pack.sat.u8.s32.b32") == work.across // 2
    assert re.search(r"cp\.async\.ca\.shared\.global \[[^,]*, \[[^,]*, 16;", head)
    assert "prmt" in head
    assert "prmt" not in loop.split("cvt.pack")[0]
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local|\.ftz", ptx) == []
    loads = sum(len(work.loads_of(channel)) for channel in range(channels))
    # With those of results by whole lines.
    staged = work.across // 16 if work.is_staged else 0
    assert len(re.findall(r"ld\.shared", ptx)) == work.fours_of_rows * loads + staged
    assert ptx.count("bar.warp.sync") == (channels > 1)
    # A register may be named %f64, and an unused one may be declared.
    assert [line for line in ptx.splitlines() if re.search(r"\.f64\b", line) and ".reg" not in line] == []


@pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
def test_that_lanes_are_granted_the_registers_that_were_measured_by_the_compiler_and_the_kept_kernel():
    def registers(rows, columns, channels):
        shape = digit_shape((rows, columns), columns // 2, channels)
        return shape.registers

    assert [registers(side, side, 1) for side in (1, 5, 9, 10, 11)] == [None, None, None, 128, 128]
    for channels in (2, 3, 4):
        granted = [registers(side, side, channels) for side in (1, 5, 6, 9, 10, 11)]
        assert granted == [96, 96, 128, 128, 168, 168]
        assert registers(3, 11, channels) == registers(11, 3, channels) == 168
        assert registers(1, 12, channels) is None
    mask = Mask(np.ones((5, 5)))
    for channels, limit in ((1, None), (3, 96)):
        (step,) = VARIANT.passes(problem_of(mask, channels), mask, BLOCK)
        assert step.kernel.targetoptions.get("max_registers") == limit
        assert step.kernel._cache._options is step.kernel.targetoptions
    assert kernel.cache_info().maxsize == 64
