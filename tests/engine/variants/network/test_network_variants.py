"""Every stage against the oracle; its model of work against counts; its divergence."""

import itertools
from collections import Counter
from functools import cache
from unittest import mock

import numpy as np
import pytest

from engine.course import cnn as worked_product
from engine.device.interpreter import run_pass
from engine.device.launches import Between, DeviceKind, HostStep
from engine.geometry.block import Block, Limits
from engine.process import interprets
from engine.tasks.network.oracle import convolved, verify
from engine.tasks.network.problem import LAYERS, ForwardPass
from engine.tasks.network.task import NETWORK_VARIANTS, network_variant
from engine.variants.network import gemm, one_change, report
from engine.variants.network.fast import CONVOLUTIONS
from engine.variants.network.steps import chunks
from tests.engine.variants import executed as executing
from tests.engine.variants.executed import accesses_of, executed, observed
from tests.engine.variants.network.cases import SIMULATED, SMALL, check, random_weights, scores_of
from tests.ptx import older

CUDA = [stage for stage in NETWORK_VARIANTS if stage.device is DeviceKind.CUDA]
CPU = [stage for stage in NETWORK_VARIANTS if stage.device is DeviceKind.CPU]
BLOCK = Block(16, 16)
every_cuda_stage = pytest.mark.parametrize("stage", CUDA, ids=lambda stage: stage.key)


def test_that_the_stages_have_their_stable_keys_in_the_order_of_the_report():
    assert [stage.key for stage in NETWORK_VARIANTS][:11] == [
        "network-serial", "network-cpu", "network-convolution", "network-pool", "network-fused",
        "network-connected", "network-linearised", "network-uncoalesced", "network-implicit-gemm",
        "network-unrolled", "network-constant",
    ]  # fmt: skip


@pytest.mark.parametrize("stage", CPU, ids=lambda stage: stage.key)
def test_that_every_cpu_stage_agrees_with_the_oracle(stage):
    for case in SMALL:
        check(stage, case, "cpu")


RUNS = {}


def run_once(step, arrays, **asked):
    """Run a pass, or take what it gave the same numbers: several stages have the same layers."""
    given = [one for one in (*step.arguments, *(step.constant or ())) if isinstance(one, np.ndarray)]
    values = [one.tobytes() for one in (*given, *(one.values for one in arrays.values()))]
    # Accesses are counted by the arrays' names.
    key = step.kernel, step.launch, str(step.arguments), str([one.name for one in arrays.values()]), *values
    if key not in RUNS:
        RUNS[key] = run_pass(step, arrays, **asked), {one: arrays[one].values.copy() for one in arrays}
    run, left = RUNS[key]
    for one, values in left.items():
        arrays[one].values[...] = values
    return run


@cache
def launched(key):
    """Compare a stage's scores with the oracle and its model of work with what the simulator counts, once."""
    stage, (case,) = network_variant(key), SIMULATED
    once = mock.patch.object(executing, "run_pass", run_once)
    with older.numbas_part_kept(), once, observed(counted=True) as launches:
        check(stage, case, "simulator")
        for step, *_ in launches:
            # A pool only adds, and unrolling only copies.
            multiplies = "convolution" in step.name and "unroll" not in step.name
            assert all("fma.rn.f32" in ptx or not multiplies for ptx in older.checked(step))
    found, work = executed(launches), stage.work(case.problem, BLOCK)
    assert (work.picture_loads, work.global_loads) == (found.picture_loads, found.global_loads)
    assert work.global_stores == found.global_stores
    assert (work.shared_loads, work.shared_stores) == (found.shared_loads, found.shared_stores)
    assert work.constant_loads == found.constant_loads
    return launches


@pytest.mark.slow
@every_cuda_stage
def test_that_every_cuda_stage_agrees_with_the_oracle_and_its_model_in_the_simulator(stage):
    assert launched(stage.key)


def apart_in_a_warp(stage_key):
    """Return how far apart the first values are that neighbouring threads of the second convolution read."""
    (launch,) = (one for one in launched(stage_key) if one.step.name == "convolution-2")
    maps = next(value for value in launch.step.arguments if isinstance(value, Between))
    accesses = accesses_of(launch.step, launch.arrays, (0, 0, 0))
    first = next(step for step in accesses if step.array == launch.arrays[maps].name)
    return (first.addresses[1] - first.addresses[0]) // 4


@pytest.mark.slow
def test_that_neighbouring_threads_ask_for_neighbouring_values_but_in_the_reports_layout():
    assert apart_in_a_warp("network-connected") == 1
    assert apart_in_a_warp("network-uncoalesced") == 32


def test_that_the_linearisation_by_itself_is_one_launch_more():
    problem = ForwardPass(100)
    without, with_it = (network_variant(f"network-{name}") for name in ("connected", "linearised"))
    assert len(with_it.plan(problem, BLOCK)) == len(without.plan(problem, BLOCK)) + 1
    names = [step.name for step in with_it.passes(problem, random_weights(1), BLOCK)]
    assert names[3:6] == ["pool-2", "linearisation", "hidden"]
    more = with_it.work(problem, BLOCK).global_loads - without.work(problem, BLOCK).global_loads
    assert more == 100 * 1024


# The report: 12 and 4 for a map of the convolutions, 6 and 2 for one of the average pools.
@pytest.mark.slow
def test_that_stores_show_the_divergence_that_the_report_prints():
    found = Counter()
    # Of the first map, 24 x 24 in tiles of 16 x 16, the four blocks.
    for launch, tile in itertools.product(launched("network-pool"), range(4)):
        accesses = accesses_of(launch.step, launch.arrays, (0, 0, tile))
        stores = (one for one in accesses if (one.instruction.name, one.space) == ("st", "global"))
        for warps in (one.threads // 32 for one in stores):
            # Some threads of these warps have a result and others none.
            found[launch.step.name] += sum(0 < threads < 32 for threads in Counter(warps.tolist()).values())
    assert found == {"convolution-1": 12, "convolution-2": 4, "pool-1": 6, "pool-2": 2}


def test_that_the_worked_product_of_the_report_is_what_it_prints():
    assert np.array_equal(worked_product.W @ worked_product.unrolled(), worked_product.Y)
    filters = worked_product.W.reshape(2, 3, 2, 2).astype(np.float64)
    maps = convolved(worked_product.INPUT_MAPS[None].astype(np.float64), filters)
    assert np.array_equal(maps.reshape(2, 4), worked_product.Y)


def test_that_bytes_and_shapes_are_those_that_remarks_and_documents_tell():
    assert one_change.FILTER_BYTES == (3_200, 204_800)
    assert "204,800 bytes" in network_variant("network-constant").remark
    layers = LAYERS[0], LAYERS[2]
    assert [gemm.matrix_bytes(1, layer) for layer in layers] == [57_600, 204_800]
    assert round(sum(gemm.matrix_bytes(10_000, layer) for layer in layers) / 1e9, 1) == 2.6
    assert [(shape.threads, shape.filters) for shape in CONVOLUTIONS] == [(288, 4), (128, 2)]
    for shape in CONVOLUTIONS:
        assert shape.shared_bytes <= 40 * 1024
        assert shape.phases * shape.phase == shape.channels


def test_that_a_batch_whose_matrices_would_fill_the_memory_is_refused_with_the_largest():
    refused = gemm.unsupported
    assert refused(ForwardPass(10_000), None, BLOCK, Limits()) is None
    reason = refused(ForwardPass(30_000), None, BLOCK, Limits()).sentence
    assert "30,000 drawings take 10.6 GiB, the limit is 4.0 GiB" in reason
    most = int(reason.split()[-1].rstrip(".").replace(",", ""))
    assert refused(ForwardPass(most), None, BLOCK, Limits()) is None
    assert refused(ForwardPass(most + 1), None, BLOCK, Limits()) is not None


def test_that_a_batch_is_cut_into_chunks_without_a_gap():
    assert chunks(250, 100) == [(0, 100), (100, 200), (200, 250)]
    launches = network_variant("network-streams").plan(ForwardPass(250), BLOCK)
    assert len(launches) == 3 * 6


def test_that_a_value_that_was_never_written_is_found():
    case = SMALL[0]
    drawings, weights = case.operands()
    scores, _ = scores_of(NETWORK_VARIANTS[0], drawings, weights, "cpu")
    scores[0, 1] = np.nan
    found = verify(scores, drawings, weights, case.problem)
    assert not found.passed
    assert "drawing 0, output 1 is nan" in found.reason


def test_that_the_steps_of_the_host_are_the_layers_that_a_stage_leaves_to_it():
    problem, weights = ForwardPass(1), random_weights(1)
    left = {}
    for stage in (report.CONVOLUTION, report.POOL, report.FUSED):
        with mock.patch.object(report, "interpreted") as made, interprets.within(True):
            stage.prepare(problem, weights, BLOCK)
        (steps,) = made.call_args.args
        left[stage.key] = [step.name for step in steps if isinstance(step, HostStep)]
    assert left == {
        "network-convolution": ["pool-1", "pool-2", "hidden", "output"],
        "network-pool": ["hidden", "output"],
        "network-fused": ["hidden", "output"],
    }
