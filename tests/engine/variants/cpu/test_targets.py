"""CPU code for other processors than this one: AVX2 runs on most machines, AArch64 is compiled only."""

import json

import llvmlite.binding as llvm
import pytest

from engine.compiled.machine_code import cpu_target
from engine.variants.cpu import register_tiles as tuned
from tests.fresh_python import fresh_python

AVX2 = {
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+bmi,+bmi2,+f16c,"
    "+lzcnt,+movbe,+cx16,+64bit,+cmov,+fxsr,+mmx,+xsave,+xsaveopt",
}
HAS_AVX2 = bool(llvm.get_host_cpu_features().get("avx2"))


def test_that_the_sums_of_a_strip_fit_the_registers_and_parts_are_of_whole_strips_and_lines():
    registers = 32 if tuned.VECTOR == 16 or cpu_target().has("neon") else 16
    for rows in range(1, tuned.MOST_ROWS + 1):
        vectors = tuned.STRIP_VECTORS.get(rows, 1)
        held = rows * vectors * (1 + tuned.PARTIAL_SUMS)
        # Beside them the fewer of samples and weights, and one of the others, which may be in memory.
        assert held + min(rows, vectors) + (not tuned.PARTIAL_SUMS) <= registers, rows
    # Of two vectors of 9 rows some are in memory: that still costs less than a second pass.
    assert all(rows * vectors <= registers + 2 for rows, vectors in tuned.PRODUCT_VECTORS.items())
    strips = [vectors * tuned.VECTOR for vectors in tuned.STRIP_VECTORS.values()]
    assert tuned.PARTIAL_SUMS or not any(tuned.PART_SAMPLES % strip for strip in strips)
    assert tuned.PART_SAMPLES % tuned.LINE == 0


@pytest.mark.skipif(not HAS_AVX2, reason="needs a processor with AVX2")
@pytest.mark.slow
def test_that_code_for_avx2_agrees_with_the_oracle():
    found = json.loads(fresh_python("-m", "tests.engine.variants.cpu.on_target", **AVX2))
    assert found == {"vector": 8, "faults": {}}


@pytest.mark.slow
def test_that_code_for_this_processor_touches_nothing_beside_pictures_and_results():
    found = json.loads(fresh_python("-m", "tests.engine.variants.cpu.on_target"))
    assert found == {"vector": tuned.VECTOR, "faults": {}}


@pytest.mark.slow
def test_that_the_code_for_aarch64_multiplies_vectors():
    found = json.loads(fresh_python("-m", "tests.engine.variants.cpu.for_arm"))
    fast = {"stream_bands float32", "stream_bands uint8", "two_passes_of_bands float32"}
    assert {name for name, counts in found.items() if counts["vectors"] > 40} == fast
    assert set(found) == fast | {"box_sums_of_bands float32"}
    assert not any(counts["calls"] for counts in found.values())
