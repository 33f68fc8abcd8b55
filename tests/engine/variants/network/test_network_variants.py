"""Every stage on small networks against the oracle; its model of work against counts; its divergence."""

import numpy as np
import pytest

import engine
from engine.device.launches import Between, DeviceKind, HostStep, Operand, Pass
from engine.geometry.block import Block, Limits
from engine.tasks.network import worked_product
from engine.tasks.network.agreement import verify
from engine.tasks.network.oracle import convolved
from engine.tasks.network.problem import ForwardPass, Layer
from engine.tasks.network.variants import NETWORK_VARIANTS, network_variant
from engine.tasks.network.weights import random_weights
from engine.variants.network import constant_filters, fast, layer_kernels, unrolled_matrix
from engine.variants.network.passes import chunks
from tests.engine.variants.counting import CountingArray, Counts, run_pass
from tests.engine.variants.network.cases import SIMULATED, SMALL, Case, check, scores_of

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
    # In the last one each layer has more values than two vectors hold.
    for case in (*SMALL, Case(2, 28, 32, 64, 128, 10), Case(5, 16, 33, 34, 40, 70)):
        check(stage, case, "cpu")


@pytest.mark.slow
@every_cuda_stage
def test_that_every_cuda_stage_agrees_with_the_oracle_in_the_simulator(stage):
    from engine.run.on_device import measure_on
    from engine.run.sampling import NO_SAMPLES
    from engine.tasks.network.task import network_job

    for case in SIMULATED:
        outcome = measure_on(network_job(stage, *case.operands()), "simulator", NO_SAMPLES)
        assert outcome.result.is_proven, outcome.result.status
        assert outcome.values.shape == (case.batch, case.classes)


def arrays_of(job_maps, problem, passes, counts):
    """Return counting arrays for what the arguments of passes stand for."""
    memory = {}
    arrays = {
        Operand.IMAGE: CountingArray(job_maps, counts, "picture"),
        Operand.OUT: CountingArray(
            np.full((problem.batch, problem.classes), np.nan, np.float32), counts, "out"
        ),
    }
    for value in (value for step in passes for value in step.arguments if isinstance(value, Between)):
        size = int(np.prod(value.shape))
        flat = memory.setdefault(value.name, np.full(size, np.nan, np.float32))
        arrays[value] = CountingArray(flat.reshape(value.shape), counts, "scratch")
    return arrays


@pytest.mark.slow
@every_cuda_stage
def test_that_the_model_counts_what_the_source_does(stage):
    case = Case(1, 16, 2, 2, 3, 2)
    drawings, weights = case.operands()
    problem = case.problem
    passes = stage.passes(problem, weights, BLOCK)
    counts = Counts()
    arrays = arrays_of(drawings.reshape(1, 1, 16, 16), problem, passes, counts)
    for step in passes:
        run_pass(step, counts, arrays)
    work = stage.work(problem, BLOCK)
    loads = counts.picture_loads + counts.weight_loads + counts.scratch_loads
    assert (work.picture_loads, work.global_loads) == (counts.picture_loads, loads)
    assert work.global_stores == counts.scratch_stores + counts.out_stores
    assert (work.shared_loads, work.shared_stores) == (counts.shared_loads, counts.shared_stores)
    assert work.constant_loads == counts.constant_loads
    if any(value is Operand.OUT for step in passes for value in step.arguments):
        scores = arrays[Operand.OUT].values
        assert verify(scores, drawings, weights, problem, roundings=stage.roundings).passed


def apart_in_a_warp(stage_key):
    """Return how far apart the first values are that neighbouring threads of the second convolution read."""
    problem, counts = Case(1, 16, 3, 1, 2, 2).problem, Counts(trace=[])
    stage = network_variant(stage_key)
    passes = stage.passes(problem, random_weights(problem, seed=1), BLOCK)
    (step,) = (one for one in passes if one.name == "convolution-2")
    arrays = arrays_of(np.ones((1, 1, 16, 16), np.float32), problem, passes, counts)
    maps = next(value for value in step.arguments if isinstance(value, Between))
    arrays[maps].values[...] = 1.0
    run_pass(step, counts, arrays, in_order=True)
    first = {}
    for _, thread, array, what, index in counts.trace:
        if array is arrays[maps] and what == "loads":
            first.setdefault(thread, np.ravel_multi_index(index, maps.shape))
    return first[1, 0, 0] - first[0, 0, 0]


def test_that_neighbouring_threads_ask_for_neighbouring_values_but_in_the_reports_layout():
    assert apart_in_a_warp("network-connected") == 1
    assert apart_in_a_warp("network-uncoalesced") == 3  # maps of a value, 32 in the report


def test_that_the_linearisation_by_itself_is_one_launch_more():
    problem = ForwardPass(100)
    without, with_it = (network_variant(f"network-{name}") for name in ("connected", "linearised"))
    assert len(with_it.plan(problem, BLOCK)) == len(without.plan(problem, BLOCK)) + 1
    names = [step.name for step in with_it.passes(problem, random_weights(problem, seed=1), BLOCK)]
    assert names[3:6] == ["pool-2", "linearisation", "hidden"]
    more = with_it.work(problem, BLOCK).global_loads - without.work(problem, BLOCK).global_loads
    assert more == 100 * 1024


def diverging_warps(launch, stored):
    """Return the warps of which some threads stored and some did not, by (block, thread) that stored."""
    warps = {}
    for block, (x, y, _) in stored:
        warps.setdefault((block, (y * launch.block[0] + x) // 32), set()).add((x, y))
    threads = launch.block[0] * launch.block[1]
    full = [32] * (threads // 32)
    return sum(len(inside) < full[warp] for (_, warp), inside in warps.items())


# The report: 12 and 4 for a map of the convolutions, 6 and 2 for one of the average pools.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "is_pool", "printed"), [(24, False, 12), (8, False, 4), (12, True, 6), (4, True, 2)]
)
def test_that_the_counting_run_finds_the_divergence_that_the_report_prints(side, is_pool, printed):
    before = 2 * side if is_pool else side + 4
    layer = Layer("a map", "A map", (1, side, side), 0, 0)
    launch = layer_kernels.map_launch(1, layer)
    counts = Counts(trace=[])
    maps = CountingArray(np.ones((1, 1, before, before), np.float32), counts, "scratch")
    results = CountingArray(np.full((1, 1, side, side), np.nan, np.float32), counts, "scratch")
    values = [maps, results] if is_pool else [maps, np.ones((1, 1, 5, 5), np.float32), results]
    keys = [Operand.IMAGE, Operand.OUT] if is_pool else [Operand.IMAGE, values[1], Operand.OUT]
    kernel = layer_kernels.pool_kernel() if is_pool else layer_kernels.convolution_kernel()
    step = Pass("a map", kernel, (), launch, tuple(keys))
    run_pass(step, counts, {Operand.IMAGE: maps, Operand.OUT: results})
    stored = [(block, thread) for block, thread, _, what, _ in counts.trace if what == "stores"]
    assert len(stored) == side * side
    assert diverging_warps(launch, stored) == printed


def test_that_the_worked_product_of_the_report_is_what_it_prints():
    assert np.array_equal(worked_product.W @ worked_product.unrolled(), worked_product.Y)
    filters = worked_product.W.reshape(2, 3, 2, 2).astype(np.float64)
    maps = convolved(worked_product.MAPS[None].astype(np.float64), filters)
    assert np.array_equal(maps.reshape(2, 4), worked_product.Y)
    # Of its columns of X the report prints only the first one right.
    right = [tuple(map(int, column)) for column in worked_product.unrolled().T]
    assert [printed == own for printed, own in zip(worked_product.PRINTED_X, right, strict=True)] == [
        True, False, False, False
    ]  # fmt: skip


def test_that_the_second_filters_are_refused_for_constant_memory_in_bytes():
    assert constant_filters.filter_bytes(ForwardPass(1)) == (3_200, 204_800)
    assert "204,800 bytes" in network_variant("network-constant").remark
    assert "constant memory has 65,536" in network_variant("network-constant").remark
    many = ForwardPass(1, first=656, second=2)
    refusal = constant_filters.unsupported(many, None, BLOCK, Limits())
    assert "65,600 bytes" in str(refusal)


def test_that_the_unrolled_matrix_has_the_bytes_that_its_remark_tells():
    first, _, second, *_ = ForwardPass(1).layers
    one = [unrolled_matrix.matrix_bytes(ForwardPass(1), layer) for layer in (first, second)]
    assert one == [57_600, 204_800]
    all_of_them = sum(unrolled_matrix.matrix_bytes(ForwardPass(10_000), layer) for layer in (first, second))
    assert round(all_of_them / 1e9, 1) == 2.6


def test_that_a_batch_whose_matrices_would_fill_the_memory_is_refused_with_the_largest():
    refused = unrolled_matrix.unsupported
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


@every_cuda_stage
def test_that_the_plan_has_a_launch_for_each_pass(stage):
    problem = ForwardPass(3)
    plan = stage.plan(problem, BLOCK)
    assert all(launch.blocks > 0 for launch in plan)
    assert stage.unsupported(problem, None, BLOCK, Limits()) is None
    refusal = stage.unsupported(problem, None, BLOCK, Limits(max_threads=512))
    needs = max(x * y * z for x, y, z in (launch.block for launch in plan)) > 512
    assert (refusal is not None) == needs
    assert refusal is None or "25 × 25" in str(refusal)


def test_that_stages_that_are_the_same_network_give_the_same_digits():
    from engine.tasks.network.drawings import held_out

    some = held_out().pixels[:20]
    told = [engine.network(some, stage=stage.key, device="cpu").digits for stage in CPU]
    assert all(np.array_equal(told[0], one) for one in told)


def test_that_a_value_that_nobody_wrote_is_found():
    case = SMALL[0]
    drawings, weights = case.operands()
    scores, _ = scores_of(NETWORK_VARIANTS[0], drawings, weights, "cpu")
    scores[0, 1] = np.nan
    found = verify(scores, drawings, weights, case.problem)
    assert not found.passed
    assert "drawing 0, output 1 is nan" in found.reason


def test_that_the_steps_of_the_host_are_the_layers_that_a_stage_leaves_to_it():
    from engine.variants.network import fused_pool, parallel_convolution, parallel_pool
    from engine.variants.network.host_layers import made_steps

    problem = ForwardPass(1)
    weights = random_weights(problem, 1)
    left = {
        module.VARIANT.key: [
            step.name for step in made_steps(module.STEPS, problem, weights) if isinstance(step, HostStep)
        ]
        for module in (parallel_convolution, parallel_pool, fused_pool)
    }
    assert left == {
        "network-convolution": ["pool-1", "pool-2", "hidden", "output"],
        "network-pool": ["hidden", "output"],
        "network-fused": ["hidden", "output"],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        *(Case(5, 20, 5, 7, 33, 3), Case(3, 24, 3, 9, 6, 4), Case(2, 16, 1, 1, 1000, 2)),
        # Values before the hidden layer for two phases of it.
        Case(3, 16, 1, 130, 3, 2),
    ],
    ids=str,
)
def test_that_the_blocks_for_many_drawings_give_the_same_scores(case, monkeypatch):
    monkeypatch.setattr(fast, "MANY_DRAWINGS", 2)
    drawings, weights = case.operands()
    problem, counts = case.problem, Counts()
    passes = fast.VARIANT.passes(problem, weights, BLOCK)
    # Several drawings per block, of which the last one has fewer; the sums in several phases.
    assert passes[1].launch.grid[0] == -(-case.batch // fast.shapes(problem)[1].drawings)
    arrays = arrays_of(drawings.reshape(case.batch, 1, case.side, case.side), problem, passes, counts)
    for step in passes:
        run_pass(step, counts, arrays)
    assert verify(arrays[Operand.OUT].values, drawings, weights, problem).passed
    work = fast.VARIANT.work(problem, BLOCK)
    loads = counts.picture_loads + counts.weight_loads + counts.scratch_loads
    assert (work.global_loads, work.shared_loads, work.shared_stores) == (
        loads, counts.shared_loads, counts.shared_stores
    )  # fmt: skip
    assert work.global_stores == counts.scratch_stores + counts.out_stores
