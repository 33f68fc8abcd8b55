"""What the compiler makes of the kernels of operations; it needs NVVM, no device."""

import re

import pytest

from engine.geometry.block import Block
from engine.work.operations.table import OPERATION_VARIANTS
from tests.engine.variants.emitted import NEEDS_NVVM, compiled
from tests.engine.variants.operations.cases import Case
from tests.picture_jobs import operation_request, resolved_operands
from tests.ptx.test_ptx import CAPABILITIES, bytes_of

pytestmark = [pytest.mark.slow, *NEEDS_NVVM]
CUDA = [variant for variant in OPERATION_VARIANTS if variant.has_kernels]
SETTINGS = {"median": ({"size": 3}, {"size": 5}), "find-patch": ({"width": 5, "height": 3},)}


def codes_of(variant, dtype, capability, block, settings):
    case = Case(variant.operation, settings, 40, 50, 3, dtype)
    request = operation_request(operation=case.operation, settings=settings)
    _, problem, operands = resolved_operands(request, case.picture())
    codes = [compiled(step, capability) for step in variant.passes(problem, operands.constant, block)]
    launches = variant.plan(problem, block)
    assert [bytes_of("shared", ptx) for ptx in codes] == [launch.shared_bytes for launch in launches]
    assert [bytes_of("const", ptx) for ptx in codes] == [launch.constant_bytes for launch in launches]
    return codes


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
def test_that_code_is_in_float32_in_registers_with_the_planned_shared_memory(variant, dtype):
    # Each size with one type: what is loaded is a float32 from there on.
    settings = SETTINGS.get(variant.operation, ({},))[-1 if dtype == "uint8" else 0]
    for capability in (CAPABILITIES[0], CAPABILITIES[-1]):
        for ptx in codes_of(variant, dtype, capability, variant.default_block, settings):
            lines = [line for line in ptx.splitlines() if ".reg" not in line]
            assert [line for line in lines if re.search(r"\.f64\b", line)] == []
            in_local_memory = re.findall(r"__local_depot|\b(?:ld|st)\.local", ptx)
            assert bool(in_local_memory) == variant.uses_local_memory
            assert ".ftz" not in ptx
            # Divisions and roots are rounded correctly, which the bounds count on.
            assert re.findall(r"\b(?:div|sqrt)\.(?:approx|full)", ptx) == []
            # A row times the pitch has 64 bits.
            assert re.search(r"\bmul\.wide\.[su]32\b|\b(?:mul|mad)\.lo\.[su]64\b", ptx)


@pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)
def test_that_shared_memory_follows_the_block(variant):
    for settings in SETTINGS.get(variant.operation, ({},)):
        block = Block(16, 8) if variant.operation == "compress" else Block(33, 3)
        codes_of(variant, "uint8", (9, 0), block, settings)


def test_that_histograms_count_by_atomics_where_their_names_say():
    found = {}
    for variant in CUDA:
        if variant.operation == "histogram":
            text = "".join(codes_of(variant, "uint8", (9, 0), variant.default_block, {}))
            found[variant.key] = set(re.findall(r"\b(?:atom|red)\.(global|shared)\.add\.u32", text))
    assert found == {"histogram-global": {"global"}, "histogram-shared": {"global", "shared"}}
