"""The launches behind a run: in the result, in its files, and as numbers of it; halos."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from engine.device.backend import CpuBackend
from engine.device.device_list import cpu_info, simulator_info
from engine.device_info import DeviceInfo
from engine.explain.launches import ABSENT_GPUS
from engine.geometry.block import Block
from engine.mask.generators import box
from engine.results.metrics import Compared, metric, number_of
from engine.results.occupancy import KernelResources, LaunchFacts
from engine.results.text_forms import json_text
from engine.run.measure import HARDLY_SAMPLED, launched, measure
from engine.run.task import Choice
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.read_results import result_from_json
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from engine.work.problem import Problem
from tests.made_runs import WORK, make_result
from tests.picture_jobs import filter_job

GPU = DeviceInfo("cuda:0", "cuda", "a GPU", attributes=ABSENT_GPUS[9, 0].attributes)


def job_for(key, block=None):
    samples = np.zeros((130, 200, 1), np.float32)
    mask, chosen = box(5), variant(key)
    problem = describe_problem(samples, mask, "zero", 0.0)
    return filter_job(Choice(chosen, chosen.block_for(block)), problem, mask, samples)


def prepared(*resources):
    return SimpleNamespace(resources=resources)


def test_that_a_run_says_what_its_loaded_kernels_take_and_on_the_cpu_has_none():
    (facts,) = launched(job_for("tiled", Block(16, 16)), prepared(KernelResources(60, 1600, 8)), GPU)
    assert facts == LaunchFacts(
        (13, 9, 1), (16, 16, 1), 60, 1600, 8, 4, 0.5, "registers", 117 / 528, 117 / 528, 400 / 256,
        1 - 130 * 200 / (117 * 256),
    )  # fmt: skip
    # What a simulated kernel takes is not known.
    (facts,) = launched(job_for("tiled"), prepared(), simulator_info())
    assert (facts.registers, facts.occupancy, facts.waves) == (None, None, None)
    assert facts.halo_redundancy > 1
    taken = KernelResources(32, 1152, 0), KernelResources(40, 1536, 0)
    facts = launched(job_for("separable-l1"), prepared(*taken), GPU)
    assert [one.registers for one in facts] == [32, 40]
    assert launched(job_for("cpu-serial"), prepared(), cpu_info()) is None
    outcome = measure(job_for("cpu-serial"), CpuBackend(), HARDLY_SAMPLED)
    assert outcome.result.launches is None
    assert number_of(outcome.result, "occupancy") is None


FACTS = LaunchFacts((2, 3, 1), (32, 8, 1), 40, 1728, 0, 6, 0.75, "registers", 0.5, 0.5, 1.7, 0.1)
LATER = replace(FACTS, registers=32, occupancy=1.0, waves=2.5, idle_threads=0.3)


def test_that_a_result_is_read_back_from_its_file_with_its_launches_or_of_before_there_were_any():
    result = make_result("tiled", 2.0, launches=(FACTS, LATER))
    data = json.loads(json_text(result.as_json()))
    assert result_from_json(data) == result
    del data["launches"]
    assert result_from_json(data).launches is None


def test_that_of_several_launches_a_number_is_that_of_the_worst():
    run = Compared(make_result("tiled", 2.0, launches=(FACTS, LATER)))
    wanted = {
        "registers_per_thread": "40", "shared_bytes_per_block": "1,728 bytes",
        "local_bytes_per_thread": "0 bytes", "occupancy": "75.0 %", "waves": "2.5", "halo_redundancy": "1.7",
        "idle_threads": "20.0 %",
    }  # fmt: skip
    for problem in (Problem, MatrixProduct):
        assert {key: metric(key, problem).words(run) for key in wanted} == wanted
    # Not known where one launch does not know them.
    unknown = replace(LATER, idle_threads=None)
    assert number_of(make_result("tiled", 2.0, launches=(FACTS, unknown)), "idle_threads") is None


def test_that_rates_are_what_the_model_counts_over_the_kernel_time():
    result = make_result("tiled", 2.0, work=WORK)
    assert number_of(result, "compulsory_gb_s") == WORK.minimum_bytes / 2.0 / 1e6
    counted_bytes = WORK.global_load_bytes + WORK.global_store_bytes
    assert number_of(result, "counted_gb_s") == counted_bytes / 2.0 / 1e6
    for unknown in (replace(result, timing=None), replace(result, work=None)):
        assert number_of(unknown, "gflops") is None


def halos_of(key, problem):
    known = variant(key)
    return known.halos(problem, known.plan(problem, known.block_for(Block(32, 16))))


def test_that_the_halo_is_the_input_tile_over_the_output_tile():
    problem = Problem(999, 999, 1, "float32", (5, 5), (2, 2))
    for key, wanted in [
        *((key, (20 * 36 / 512,)) for key in ("naive", "tiled", "cached")),
        # The block is the input tile.
        ("tiled-input", (512 / (12 * 28),)),
        # Of two passes each has the halo of its own direction.
        ("separable-l1", (36 / 32, 20 / 16)),
    ]:
        assert halos_of(key, problem) == wanted
    # A block which moves down has less.
    tall = Problem(2000, 512, 1, "float32", (5, 5), (2, 2))
    short = Problem(96, 512, 1, "float32", (5, 5), (2, 2))
    (of_tall,), (of_short,) = (halos_of("box", one) for one in (tall, short))
    assert 1 < of_tall <= of_short
