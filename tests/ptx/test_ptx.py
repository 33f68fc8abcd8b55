"""What the compiler makes of CUDA kernels; it needs NVVM, no device.

tests/engine/variants looks at the code of every kernel, for the simulator and for the oldest devices.
"""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from numba import types

from engine.course.tables import COPY
from engine.device.numba_cuda import cuda
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.tasks.network.operands import trained_weights
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.task import NETWORK_VARIANTS
from engine.work.filtering.variants import variant
from engine.work.operations.contract import OPERATION_VARIANTS
from engine.work.problem import Problem
from tests.engine.variants.case_lists import one_case
from tests.engine.variants.emitted import NEEDS_NVVM, compiled
from tests.engine.variants.operations.cases import Case
from tests.picture_jobs import operation_request, resolved_operation
from tests.ptx.older import CAPABILITIES, numbas_part_kept

pytestmark = [pytest.mark.slow, *NEEDS_NVVM]


def test_that_one_compilation_serves_all_capabilities():
    mask = Mask(np.ones((3, 5)))
    problem = Problem(9, 9, mask_shape=mask.shape, anchor=mask.anchor)
    (step,) = variant("tiled").passes(problem, mask, Block(32, 8))
    of = step.kernel.py_func, step.signature
    ends = CAPABILITIES[0], CAPABILITIES[-1]
    with numbas_part_kept():
        kept = [cuda.compile_ptx(*of, cc=capability)[0] for capability in ends]
    for ours, capability in zip(kept, ends, strict=True):
        numbas, _ = cuda.compile_ptx(*of, cc=capability)
        assert "sm_{}{}".format(*capability) in ours
        # Numba counts the names that it makes.
        ours, numbas = (re.sub(r"smem_\d+|\S*correlate_tiled\S*", "", ptx) for ptx in (ours, numbas))
        assert ours == numbas


def test_that_a_copy_only_reads_and_writes():
    problem = Problem(100, 200, mask_shape=(1, 1), anchor=(0, 0))
    (step,) = COPY.passes(problem, Mask([[1.0]]), COPY.default_block)
    ptx = compiled(step)
    assert (ptx.count("ld.global"), ptx.count("st.global")) == (1, 1)
    assert not any(operation in ptx for operation in ("fma.", "mul.f32", ".f64 ", "__local_depot"))


def passes_of(key, mask):
    """Return the passes of a variant that tests of several packages look at, for another mask."""
    known = variant(key)
    case = one_case(known)
    problem = Problem(9, 9, 1, "float32", mask.shape, mask.anchor, case.border)
    return known.passes(problem, mask, case.block)


@pytest.mark.parametrize(
    ("key", "shape", "floats"),
    [
        ("constant", (3, 4), 3969), ("constant", (63, 63), 3969), ("row-constant", (1, 4), 127),
        ("row-tiled-constant", (1, 4), 127), ("row-cached-constant", (1, 4), 127),
        ("cached-constant", (3, 4), 12), ("cached-constant", (3, 3), 9), ("cached-constant", (1, 127), 127),
    ],
)  # fmt: skip
def test_that_weights_are_no_part_of_the_code(key, shape, floats):
    # A compiler could see that every index of these gives the same.
    even, random = Mask(np.ones(shape)), Mask(np.random.default_rng(3).standard_normal(shape))
    (step,) = passes_of(key, random)
    assert step.launch.constant_bytes == 4 * floats
    ptx = compiled(step)
    assert f".extern .const .align 16 .b8 haloscope_weights[{4 * floats}];" in ptx
    assert re.search(r"\bld\.const(?:\.v[24])?\.[fb]32\b", ptx)
    for weight in random.weights32.flat[:25]:
        assert f"0f{struct.pack('>f', weight).hex().upper()}" not in ptx
    name, contents = step.constant
    assert (name, contents.size) == ("haloscope_weights", floats)
    assert np.array_equal(contents[: random.taps], random.weights32.ravel())
    assert not contents[random.taps :].any()
    (other,) = passes_of(key, even)
    assert other.kernel is step.kernel


def test_that_the_taps_of_kernels_that_are_compared_are_straight_line_code_in_all():
    """A loop of 4 + 1 taps in one, and 17 in a line in the other, would be compared instead of memories."""
    separable = "separable-l0", "separable-l1", "separable-l2"
    rows = "naive", "constant", "tiled", "tiled-constant", "cached", "cached-constant"
    for key in (*separable, *(f"row-{one}" for one in rows)):
        mask = one_case(variant(key)).mask()
        # Of the code that tests of several packages look at, the pass along the rows first.
        for step, taps in zip(passes_of(key, mask), reversed(mask.shape), strict=False):
            assert compiled(step).count("fma.rn.f32") == taps, (key, step.name)
    # And so many taps that loops are cut: a pass of each, along the rows and along the columns.
    for number, key in enumerate(separable):
        step = passes_of(key, Mask(np.ones((31, 31))))[number % 2]
        assert compiled(step).count("fma.rn.f32") == 31, (key, step.name)


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


def test_that_the_fastest_network_loads_once_for_many_multiply_adds():
    stage = NETWORK_VARIANTS.on("cuda")[-1]
    first, second, _ = map(compiled, stage.passes(ForwardPass(1), trained_weights(), stage.default_block))
    # A row of a filter: 5 x 2 x 8 products of four maps; three loads of cells (and those of the first row),
    # five of weights, all of 16 bytes. Or all five rows, of two maps: their weights have 8 bytes.
    for ptx, products, loads in ((first, 320, (11, 0)), (second, 800, (18, 25))):
        assert ptx.count("fma.rn.f32") == products
        assert tuple(len(re.findall(rf"ld\.shared\S*v{n}\.f32", ptx)) for n in (4, 2)) == loads
        assert "cp.async" in ptx


def test_that_histograms_count_by_atomics_where_their_names_say():
    found = {}
    for one in (one for one in OPERATION_VARIANTS if one.operation == "histogram" and one.has_kernels):
        request = operation_request(operation=one.operation, settings={})
        _, problem, patch = resolved_operation(request, Case(one.operation, {}, 40, 50, 3, "uint8").picture())
        text = "".join(map(compiled, one.passes(problem, patch, one.default_block)))
        found[one.key] = set(re.findall(r"\b(?:atom|red)\.(global|shared)\.add\.u32", text))
    assert found == {"histogram-global": {"global"}, "histogram-shared": {"global", "shared"}}


PAGE = Path(__file__).parents[2] / "docs" / "emission.md"


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
