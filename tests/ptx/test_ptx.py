"""What the compiler makes of every CUDA kernel; it needs NVVM, no device."""

import itertools
import re
import struct
from dataclasses import replace
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from numba import types

from engine.course.tables import COPY
from engine.device.interpreter import ptx_of
from engine.device.numba_cuda import cuda
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.tasks.network.operands import trained_weights
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.task import NETWORK_VARIANTS
from engine.tasks.product.problem import MatrixProduct, matmul_variant
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.operations.contract import OPERATION_VARIANTS
from engine.work.problem import Problem
from tests.engine.variants.case_lists import LIMITS, block_for, mask_for, typed
from tests.engine.variants.emitted import (
    NEEDS_NVVM,
    assert_as_planned,
    assert_rounded,
    compiled,
    needs_nvvm,
)
from tests.engine.variants.operations.cases import Case
from tests.picture_jobs import operation_request, resolved_operation

pytestmark = [pytest.mark.slow, *NEEDS_NVVM]

CAPABILITIES = ((7, 5), (8, 6), (9, 0))
TYPES, BORDERS = ("uint8", "uint16", "float32"), (Border.CONSTANT, Border.MIRROR, Border.WRAP)
CUDA = [variant for variant in VARIANTS if variant.has_kernels]
BLOCK = Block(32, 8)


def named(argument):
    parts = argument if isinstance(argument, tuple) else (argument,)
    return "-".join(str(getattr(part, "key", part)) for part in parts)


def oldest_for(variant):
    """Return the oldest architecture that a variant runs on; the newest one's code runs in the simulator."""
    return next(one for one in CAPABILITIES if can_run(variant, one))


def kind_of(number):
    """Return the types of pictures and results and the border for a kernel, others for the next one."""
    types = [dtype for dtype in TYPES if dtype in CUDA[number].picture_types]
    dtype = types[number % len(types)]
    is_quantised = dtype != "float32" and CUDA[number].integer_output and number % 2
    return dtype, dtype if is_quantised else "float32", BORDERS[number % len(BORDERS)]


def can_run(variant, capability):
    """Return whether a variant runs on devices of a compute capability; what does not says so in words."""
    mask = mask_for(variant, 5, 7)
    problem = typed(variant, Problem(100, 200, 3, "float32", mask.shape, mask.anchor))
    limits = replace(LIMITS, compute_capability=capability)
    refusal = variant.unsupported(problem, mask, block_for(variant, mask, BLOCK), limits)
    assert refusal is None or "compute capability" in str(refusal), refusal
    return refusal is None


def test_that_one_compilation_serves_all_capabilities():
    mask = Mask(np.ones((3, 5)))
    (step,) = variant("tiled").passes(Problem(9, 9, mask_shape=mask.shape, anchor=mask.anchor), mask, BLOCK)
    for capability in CAPABILITIES:
        numbas, _ = cuda.compile_ptx(step.kernel.py_func, step.signature, cc=capability)
        # Numba counts the names that it makes.
        ours, numbas = (
            re.sub(r"smem_\d+|\S*correlate_tiled\S*", "", ptx) for ptx in (compiled(step, capability), numbas)
        )
        assert ours == numbas


def assert_for_device(ptx, capability, launch, **kinds):
    """Check that code is for that device, as it is planned."""
    assert_as_planned(ptx, launch, **kinds)
    assert re.search(rf"^\.target sm_{capability[0]}{capability[1]}\b", ptx, re.MULTILINE)


def strip_rows_of(step, ptx):
    """Return the registers with the rows of a strip: a block's number times these is a row of the picture."""
    at = 0
    for name, argument in zip(signature(step.kernel.py_func).parameters, step.signature, strict=True):
        if name == "strip_rows":
            found = re.findall(rf"ld\.param\.u64\s+(%rd\d+), \[\w+_param_{at}\];", ptx)
            return set(re.findall(rf"cvt\.u32\.u64\s+(%r\d+), {found[0]};", ptx)) if found else set()
        at += 5 + 2 * argument.ndim if hasattr(argument, "ndim") else 1
    return set()


def assert_places_have_64_bits(ptx, rows):
    """Check that places in pictures past 2^31 samples are right; `rows` are registers with rows of strips."""
    blocks = set(re.findall(r"mov\.u32\s+(%r\d+), %ctaid\.[xy];", ptx))
    assert blocks
    # A column or a row, the block's times a constant, fits 32 bits
    # (`engine.work.problem.MAX_SIDE`); a row times the pitch does not.
    factors = re.findall(r"\b(?:mul|mad)\.lo\.[sbu]32\s+%r\d+, (%?\w+), (%?\w+)", ptx)
    pairs = [pair for pair in factors if blocks & set(pair) and all(one[0] == "%" for one in pair)]
    assert [pair for pair in pairs if not rows & set(pair)] == []
    assert re.search(r"\bmul\.wide\.[su]32\b|\b(?:mul|mad)\.lo\.[su]64\b", ptx)


@pytest.mark.parametrize(
    ("variant", "kind"), [(known, kind_of(number)) for number, known in enumerate(CUDA)], ids=named
)
def test_that_code_has_the_planned_bytes_for_that_device(variant, kind):
    capability, (dtype, result, border) = oldest_for(variant), kind
    mask = mask_for(variant, 5, 7)
    shape = mask.shape, mask.anchor
    problem = typed(variant, Problem(100, 200, 3, dtype, *shape, border, result_dtype=result))
    launches = variant.plan(problem, BLOCK)
    for step, launch in zip(variant.passes(problem, mask, BLOCK), launches, strict=True):
        ptx = compiled(step, capability)
        assert_for_device(ptx, capability, launch, sums_in_float64=variant.float64_sums)
        assert ("mul.f32" if variant.float64_sums else "fma.rn.f32") in ptx
        assert_places_have_64_bits(ptx, strip_rows_of(step, ptx))
    assert_rounded(ptx, problem.result_dtype)


def test_that_a_copy_only_reads_and_writes():
    problem = Problem(100, 200, mask_shape=(1, 1), anchor=(0, 0))
    (step,) = COPY.passes(problem, Mask([[1.0]]), COPY.default_block)
    ptx = compiled(step, (9, 0))
    assert (ptx.count("ld.global"), ptx.count("st.global")) == (1, 1)
    assert not any(operation in ptx for operation in ("fma.", "mul.f32", ".f64 ", "__local_depot"))


@pytest.mark.parametrize("key", ["matmul-naive", "matmul-tiled"])
def test_that_the_code_of_products_is_as_planned(key):
    for tile, capability in itertools.product((7, 32), (CAPABILITIES[0], CAPABILITIES[-1])):
        (step,) = matmul_variant(key).passes(MatrixProduct(100, 70, 200), None, Block(tile, tile))
        ptx = compiled(step, capability)
        assert_for_device(ptx, capability, step.launch)
        assert "fma.rn.f32" in ptx
        assert ".const" not in ptx
        # Two barriers a phase, and phases may be unrolled.
        barriers = ptx.count("bar.sync")
        assert (barriers > 0, barriers % 2) == (key == "matmul-tiled", 0)


def pass_of(key, mask):
    """Return the pass of a variant whose weights lie in constant memory."""
    problem = Problem(100, 200, 3, "float32", mask.shape, mask.anchor, Border.MIRROR)
    (step,) = variant(key).passes(problem, mask, Block(16, 16))
    return step


@pytest.mark.parametrize(
    ("key", "shape", "floats"),
    [
        ("constant", (3, 3), 3969), ("constant", (63, 63), 3969), ("row-constant", (1, 5), 127),
        ("row-tiled-constant", (1, 5), 127), ("row-cached-constant", (1, 5), 127),
        ("cached-constant", (3, 3), 9), ("cached-constant", (5, 5), 25), ("cached-constant", (1, 127), 127),
    ],
    ids=named,
)  # fmt: skip
def test_that_weights_are_no_part_of_the_code(key, shape, floats):
    # A compiler could see that every index of these gives the same.
    even, random = Mask(np.ones(shape)), Mask(np.random.default_rng(3).standard_normal(shape))
    step = pass_of(key, random)
    assert step.launch.constant_bytes == 4 * floats
    ptx = compiled(step, CAPABILITIES[0])
    assert f".extern .const .align 16 .b8 haloscope_weights[{4 * floats}];" in ptx
    assert re.search(r"\bld\.const(?:\.v[24])?\.[fb]32\b", ptx)
    for weight in random.weights32.flat[:25]:
        assert f"0f{struct.pack('>f', weight).hex().upper()}" not in ptx
    name, contents = step.constant
    assert (name, contents.size) == ("haloscope_weights", floats)
    assert np.array_equal(contents[: random.taps], random.weights32.ravel())
    assert not contents[random.taps :].any()
    assert pass_of(key, even).kernel is step.kernel


@pytest.mark.parametrize(
    ("keys", "shape"),
    [
        *(("separable-l0 separable-l1 separable-l2", (side, side)) for side in (3, 31)),
        ("row-naive row-constant row-tiled row-tiled-constant row-cached row-cached-constant", (1, 5)),
    ],
)
def test_that_the_taps_of_kernels_that_are_compared_are_straight_line_code_in_all(keys, shape):
    """A loop of 4 + 1 taps in one, and 17 in a line in the other, would be compared instead of memories."""
    mask = gaussian(shape[0]) if shape[0] == shape[1] else Mask(np.arange(1.0, 6.0).reshape(shape))
    for key in keys.split():
        problem = Problem(9, 9, mask_shape=mask.shape, anchor=mask.anchor, border=Border.ZERO)
        for step in variant(key).passes(problem, mask, Block(4, 3)):
            assert ptx_of(step).count("fma.rn.f32") == mask.columns, (key, step.name)


def test_that_numbas_own_constant_arrays_are_part_of_the_code_as_the_documents_say():
    weights = np.arange(1, 10, dtype=np.float32).reshape(3, 3)

    def unrolled(image, out):
        baked = cuda.const.array_like(weights)
        total = types.float32(0.0)
        for m in range(3):
            for n in range(3):
                total += image[m, n] * baked[m, n]
        out[0] = total

    def in_loops(image, rows, columns, out):
        baked = cuda.const.array_like(weights)
        total = types.float32(0.0)
        for m in range(rows):
            for n in range(columns):
                total += image[m, n] * baked[m, n]
        out[0] = total

    image, out, length = types.float32[:, ::1], types.float32[::1], types.int64
    ptx = cuda.compile_ptx(unrolled, (image, out), cc=(9, 0))[0]
    assert "fma.rn.f32 \t%f18, %f17, 0f41100000, %f16;" in ptx
    assert ".const" not in ptx
    ptx = cuda.compile_ptx(in_loops, (image, length, length, out), cc=(9, 0))[0]
    assert "ld.const.f32" in ptx
    assert ".const .align 4 .b8 _cudapy_cmem[36] = {0, 0, 128, 63, 0, 0, 0, 64, " in ptx


NETWORK = [stage for stage in NETWORK_VARIANTS if stage.has_kernels]


@pytest.mark.parametrize("stage", NETWORK, ids=named)
def test_that_the_networks_code_for_an_older_device_is_in_float32_with_the_planned_bytes(stage):
    passes = stage.passes(ForwardPass(1), trained_weights(), stage.default_block)
    assert tuple(step.launch for step in passes) == stage.plan(ForwardPass(1), stage.default_block)
    assert stage.unsupported(ForwardPass(3), None, stage.default_block, LIMITS) is None
    for step in passes:
        # The newest one's code is looked at where it runs in the simulator.
        ptx = compiled(step, CAPABILITIES[0])
        assert_for_device(ptx, CAPABILITIES[0], step.launch)
        # A pool only adds, and unrolling only copies.
        if "convolution" in step.name and "unroll" not in step.name:
            assert "fma.rn.f32" in ptx


def test_that_the_fastest_network_loads_once_for_many_multiply_adds():
    stage = NETWORK[-1]
    first, second, _ = map(ptx_of, stage.passes(ForwardPass(1), trained_weights(), BLOCK))
    # A row of a filter: 5 x 2 x 8 products of four maps; three loads of cells (and those of the first row),
    # five of weights, all of 16 bytes. Or all five rows, of two maps: their weights have 8 bytes.
    for ptx, products, loads in ((first, 320, (11, 0)), (second, 800, (18, 25))):
        assert ptx.count("fma.rn.f32") == products
        assert tuple(len(re.findall(rf"ld\.shared\S*v{n}\.f32", ptx)) for n in (4, 2)) == loads
        assert "cp.async" in ptx


OPERATIONS = [one for one in OPERATION_VARIANTS if one.has_kernels]
SETTINGS = {"median": ({"size": 3}, {"size": 5}), "find-patch": ({"width": 5, "height": 3},)}


def steps_of(variant, dtype, settings):
    case = Case(variant.operation, settings, 40, 50, 3, dtype)
    request = operation_request(operation=case.operation, settings=settings)
    _, problem, patch = resolved_operation(request, case.picture())
    launches = variant.plan(problem, variant.default_block)
    return zip(variant.passes(problem, patch, variant.default_block), launches, strict=True)


@pytest.mark.parametrize(("number", "variant"), [*enumerate(OPERATIONS)], ids=named)
def test_that_the_code_of_operations_for_an_older_device_is_as_planned(number, variant):
    # The newest one's code is looked at where it runs in the simulator. What is loaded is a float32 from
    # there on: every second kernel with bytes, and each size with one type.
    dtype = ("uint8", "float32")[number % 2]
    for settings in SETTINGS.get(variant.operation, ({},)):
        for step, launch in steps_of(variant, dtype, settings):
            ptx = compiled(step, CAPABILITIES[0])
            assert_as_planned(ptx, launch, has_local=variant.uses_local_memory)
            # A row times the pitch has 64 bits.
            assert re.search(r"\bmul\.wide\.[su]32\b|\b(?:mul|mad)\.lo\.[su]64\b", ptx)


def test_that_histograms_count_by_atomics_where_their_names_say():
    found = {}
    for one in OPERATIONS:
        if one.operation == "histogram":
            text = "".join(ptx_of(step) for step, _ in steps_of(one, "uint8", {}))
            found[one.key] = set(re.findall(r"\b(?:atom|red)\.(global|shared)\.add\.u32", text))
    assert found == {"histogram-global": {"global"}, "histogram-shared": {"global", "shared"}}


PAGE = Path(__file__).parents[2] / "docs" / "emission.md"


@pytest.mark.slow
@needs_nvvm
def test_that_what_the_page_on_emission_says_is_so():
    blocks = dict.fromkeys(("python", "ptx"), "")
    for language, text in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        blocks[language] += text
    names = {}
    exec(compile(blocks["python"], str(PAGE), "exec"), names)
    signature = (types.float32, types.float32, types.float32[::1])
    ptx, _ = cuda.compile_ptx(names["kernel"], signature, cc=(9, 0))
    made = re.findall(r"^\s*((?:ld\.shared|fma)\S*)", ptx, re.MULTILINE)
    assert made == blocks["ptx"].split()
    assert sum(map(bool, PAGE.read_text(encoding="utf-8").splitlines())) <= 60
