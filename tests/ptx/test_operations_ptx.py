"""What the compiler makes of the kernels of operations; it needs NVVM, no device."""

import re

import pytest

from engine.work.operations.table import OPERATION_VARIANTS
from tests.engine.variants.emitted import NEEDS_NVVM, assert_as_planned, compiled
from tests.engine.variants.operations.cases import Case
from tests.picture_jobs import operation_request, resolved_operands
from tests.ptx.test_ptx import CAPABILITIES

pytestmark = [pytest.mark.slow, *NEEDS_NVVM]
CUDA = [variant for variant in OPERATION_VARIANTS if variant.has_kernels]
SETTINGS = {"median": ({"size": 3}, {"size": 5}), "find-patch": ({"width": 5, "height": 3},)}


def steps_of(variant, dtype, settings):
    case = Case(variant.operation, settings, 40, 50, 3, dtype)
    request = operation_request(operation=case.operation, settings=settings)
    _, problem, operands = resolved_operands(request, case.picture())
    launches = variant.plan(problem, variant.default_block)
    return zip(variant.passes(problem, operands.constant, variant.default_block), launches, strict=True)


@pytest.mark.parametrize("number", range(len(CUDA)), ids=lambda number: CUDA[number].key)
def test_that_code_for_an_older_device_is_as_planned(number):
    # The newest one's code is looked at where it runs in the simulator. What is loaded is a float32 from
    # there on: every second kernel with bytes, and each size with one type.
    variant, dtype = CUDA[number], ("uint8", "float32")[number % 2]
    for settings in SETTINGS.get(variant.operation, ({},)):
        for step, launch in steps_of(variant, dtype, settings):
            ptx = compiled(step, CAPABILITIES[0])
            assert_as_planned(ptx, launch, has_local=variant.uses_local_memory)
            # A row times the pitch has 64 bits.
            assert re.search(r"\bmul\.wide\.[su]32\b|\b(?:mul|mad)\.lo\.[su]64\b", ptx)


def test_that_histograms_count_by_atomics_where_their_names_say():
    found = {}
    for variant in CUDA:
        if variant.operation == "histogram":
            text = "".join(compiled(step, (9, 0)) for step, _ in steps_of(variant, "uint8", {}))
            found[variant.key] = set(re.findall(r"\b(?:atom|red)\.(global|shared)\.add\.u32", text))
    assert found == {"histogram-global": {"global"}, "histogram-shared": {"global", "shared"}}
