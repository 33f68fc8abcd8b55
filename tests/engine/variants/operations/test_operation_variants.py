"""Every way to compute an operation on every case; models of work against counts; plans and refusals."""

import itertools
import re

import numpy as np
import pytest
from msgspec.structs import replace

from engine.device.launches import DeviceKind
from engine.geometry.block import Block, Limits
from engine.variants.operations.find_patch import TILED as MATCH_TILED
from engine.variants.operations.median import middle_of_3, sorted_3, sorted_5
from engine.work.operations.contract import OPERATION_VARIANTS, OPERATIONS
from tests.engine.variants.emitted import assert_as_planned, compiled
from tests.engine.variants.executed import executed, observed
from tests.engine.variants.operations.cases import SIMULATED, Case, cases_of, check, takes_long_to_compile
from tests.picture_jobs import operation_request, resolved_operation
from tests.ptx import older

CPU = [variant for variant in OPERATION_VARIANTS if variant.device is DeviceKind.CPU]
CUDA = [variant for variant in OPERATION_VARIANTS if variant.device is DeviceKind.CUDA]
every_cpu_variant = pytest.mark.parametrize("variant", CPU, ids=lambda variant: variant.key)
every_cuda_variant = pytest.mark.parametrize("variant", CUDA, ids=lambda variant: variant.key)


def test_that_every_operation_has_a_variant_for_the_cpu():
    for operation in OPERATIONS.values():
        assert DeviceKind.CPU in {variant.device for variant in operation.variants}
    assert all(variant.idea.endswith(".") and variant.title for variant in OPERATION_VARIANTS)


@pytest.mark.slow
@pytest.mark.parametrize("has_all", [False, pytest.param(True, marks=pytest.mark.matrix)])
@every_cpu_variant
def test_that_a_cpu_variant_agrees_with_the_oracle_on_one_thread_and_on_two(variant, has_all, monkeypatch):
    # Few rows per call, as for a picture that takes seconds: Ctrl+C is heard between calls.
    monkeypatch.setattr("engine.variants.operations.bands.STEPS_PER_CALL", 1)
    cases = cases_of(variant, with_blocks=False)
    for number, case in enumerate(case for case in cases if has_all or not takes_long_to_compile(case)):
        workers = 2 - number % 2
        monkeypatch.setattr("engine.variants.operations.bands.workers_for", lambda *work, own=workers: own)
        check(variant, case, "cpu")


def test_that_launches_at_the_same_time_count_into_bins_of_their_own():
    samples = np.zeros((3, 4, 1), np.uint8)
    _, problem, _ = resolved_operation(operation_request(operation="histogram"), samples)
    prepared = next(one for one in CPU if one.key == "cpu-histogram").prepare(problem, None, Block(1, 1))
    found = []

    class Calls(list):
        """Another thread takes over a call at the moment it is given back."""

        def append(self, call):
            super().append(call)
            if len(found) < 2:
                found.append(np.empty(problem.result_shape, np.uint32))
                prepared.launch(samples, found[-1])

    prepared._bands._calls = Calls(prepared._bands._calls)
    out = np.empty(problem.result_shape, np.uint32)
    prepared.launch(samples, out)
    assert [counts[0, 0, 0] for counts in (out, *found)] == [12, 12, 12]


# What the compiler loads once although the source names it in two places.
LOADED_ONCE = {
    ("median-naive", "picture_loads"), ("median-naive", "global_loads"), ("median-tiled", "shared_loads"),
    ("cuda-bilateral", "picture_loads"), ("cuda-bilateral", "global_loads"), ("dct-direct", "global_loads"),
}  # fmt: skip


@pytest.mark.slow
@every_cuda_variant
def test_that_a_cuda_variant_agrees_with_the_oracle_its_model_and_its_plan_in_the_simulator(variant):
    of_settings, how = {}, {"has_local": variant.uses_local_memory}
    for case in (case for case in SIMULATED if case.operation == variant.operation):
        with older.numbas_part_kept(), observed(counted=True) as launches:
            resolved, _ = check(variant, case, "simulator")
            # For an older device the code of one case of all settings.
            is_first = of_settings.setdefault(str(case.settings), case) is case
            for step, *_ in launches:
                assert_as_planned(compiled(step), step.launch, **how)
                assert not is_first or all(re.search(older.WIDE, one) for one in older.checked(step, **how))
        found, model = executed(launches), variant.work(resolved.problem, resolved.choice.block)
        for name in ("picture_loads", "global_loads", "global_stores", "shared_loads", "shared_stores"):
            counted, said = getattr(found, name), getattr(model, name)
            # NaN is counted into no bin.
            is_less = (variant.key, name) in LOADED_ONCE or case.pixels == "strange"
            assert counted <= said if is_less else counted == said, (case, name)


def test_that_the_networks_find_the_middle_of_25_as_sorting_does():
    for bits in itertools.product((0, 1), repeat=5):
        assert sorted_5(*bits) == tuple(sorted(bits))
        assert sorted_3(*bits[:3]) == tuple(sorted(bits[:3]))
        assert middle_of_3(*bits[:3]) == sorted(bits[:3])[1]
    # Zero-one principle: the sorted matrices of zeros and ones decide for all numbers.
    for zeros in itertools.combinations_with_replacement(range(5, -1, -1), 5):
        cell = [[int(column >= zeros[row]) for column in range(5)] for row in range(5)]
        low = max(cell[0][3], cell[1][2], cell[2][1], cell[3][0])
        middle = sorted_5(cell[0][4], cell[1][3], cell[2][2], cell[3][1], cell[4][0])[2]
        high = min(cell[1][4], cell[2][3], cell[3][2], cell[4][1])
        assert middle_of_3(low, middle, high) == int(sum(map(sum, cell)) >= 13)


def problem_of(case):
    request = operation_request(operation=case.operation, settings=case.settings)
    return resolved_operation(request, case.picture())[1:]


def test_that_illegal_blocks_are_refused_with_the_nearest_legal_one():
    for variant in CUDA:
        problem, patch = problem_of(cases_of(variant, with_blocks=False)[-1])
        for block in (Block(0, 8), Block(64, 32), Block(2048, 1)):
            refusal = variant.unsupported(problem, patch, block, Limits())
            assert refusal.nearest_block is not None
        assert variant.unsupported(problem, patch, variant.default_block, Limits()) is None


def test_that_what_a_variant_cannot_do_is_said_in_words():
    compress, patch = problem_of(Case("compress"))
    tiled = next(variant for variant in CUDA if variant.key == "dct-tiled")
    refusal = tiled.unsupported(compress, patch, Block(12, 20), Limits())
    assert "multiples of 8" in str(refusal)
    assert tiled.unsupported(compress, patch, refusal.nearest_block, Limits()) is None
    # So many rows that blocks of 8 would be too many down.
    tall = replace(compress, height=1 << 20, result_shape=(2 << 20, 16, 1))
    for sides in ((1000, 1), (1, 1000), (33, 31), (2048, 1), (1, 2048), (0, 8), (4, 700), (8, 8), (9, 12)):
        for problem in (compress, tall):
            refusal = tiled.unsupported(problem, patch, Block(*sides), Limits())
            assert (
                refusal is None or tiled.unsupported(problem, patch, refusal.nearest_block, Limits()) is None
            )
    assert tiled.unsupported(tall, patch, Block(8, 8), Limits()).nearest_block == Block(8, 24)
    large = Case("find-patch", {"width": 64, "height": 64}, 80, 80)
    problem, patch = problem_of(large)
    refusal = MATCH_TILED.unsupported(problem, patch, Block(32, 32), Limits(shared_bytes=32_768))
    assert "shared memory" in str(refusal)
    assert MATCH_TILED.unsupported(problem, patch, refusal.nearest_block, Limits(shared_bytes=32_768)) is None
