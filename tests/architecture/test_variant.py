"""What a new variant costs: its module and one line in the variants. A toy one is found everywhere."""

import json
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

import engine
from bench import representative
from bench.auto import able, cost_rows, is_too_long
from bench.peers import our_variants
from engine.commands.arguments import read
from engine.commands.benchmark import BenchSettings, bench_cells
from engine.device.device_list import cpu_info
from engine.device.devices import backend
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import UnknownName
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.host.request import Ready
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.run.variant import Registered
from engine.variants.cpu import serial
from engine.variants.ladder import naive
from engine.work import answers
from engine.work.filter_task import describe_problem
from engine.work.filtering import variants
from engine.work.filtering.planner import choose
from engine.work.filtering.variants import VARIANTS, MaskClass
from engine.work.messages import ListRequest
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.selection import Selection
from gui.explore.kernel.variants_model import ROW_ROLE, VariantRow, VariantsModel
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from gui.style.theme import series_for
from tests.engine.variants.case_lists import full_cases, mask_for, suited_cases

# Keys made of the letters of others, which say nothing: only traits do.
IDEA = "Nothing that its key says."
PLAIN = replace(serial.VARIANT, key="row-box-separable-7", title="Toy", idea=IDEA)
ONE_ROW = replace(
    naive.VARIANT, key="split-low-rank-9", title="Toy on CUDA", idea=IDEA, masks=MaskClass.ONE_ROW
)
KEYS = [PLAIN.key, ONE_ROW.key]
GPU = DeviceInfo("cuda:0", "cuda", "GPU", True, None, True, {"multiprocessors": "132", "clock": "1980 MHz"})


@pytest.fixture
def toys(monkeypatch):
    """The registry with two lines more, as a program that starts with them has it."""
    known = variants.VARIANTS
    for name, toy in (("toy_plain", PLAIN), ("toy_one_row", ONE_ROW)):
        module = ModuleType(f"engine.variants.{name}")
        module.VARIANT = toy
        monkeypatch.setitem(sys.modules, module.__name__, module)
    cpu, cuda = known.modules.values()
    longer = Registered(cpu=(*cpu, "toy_plain"), cuda=(*cuda, "toy_one_row"))
    monkeypatch.setattr(known, "modules", longer.modules)
    return known


@pytest.mark.usefixtures("toys")
def test_that_a_new_variant_is_in_every_list(command):
    assert {*KEYS} <= {known.key for known in engine.list_variants()}
    ladder = command("variants").out.split("\n\n")[0]
    assert {*KEYS} <= {line.split()[0] for line in ladder.splitlines()}
    entries = json.loads(command("variants", "--json").out)["variants"]
    assert {*KEYS} <= {entry["key"] for entry in entries if entry["task"] == "filtering"}
    with pytest.raises(UnknownName, match=PLAIN.key):
        variants.variant("tilde")


@pytest.mark.usefixtures("toys")
def test_that_bench_measures_a_new_variant(command, tmp_path):
    everything = bench_cells(read("bench", BenchSettings, ["--out", str(tmp_path / "all.json")]))
    assert {*KEYS} <= {known.key for known in everything.variants}
    out = tmp_path / "results.json"
    options = ("--sizes", "16x16", "--masks", "box-3", "--device", "cpu", "--budget", "0")
    answer = command("bench", "--out", out, "--variants", PLAIN.key, *options)
    assert (answer.status, answer.err.count("wrong")) == (0, 0)
    (cell,) = json.loads(out.read_text())["results"]
    assert cell["variant"] == PLAIN.key
    assert cell["verification"]["passed"]


def test_that_the_benches_take_a_new_variant_by_its_traits(toys):
    mask = gaussian(5)
    samples = np.zeros((32, 32, 1), np.float32)
    problem = describe_problem(samples, mask, Border.MIRROR, 0.0)
    assert PLAIN in able(problem, mask, backend("cpu"))
    assert cost_rows(PLAIN) == {"box": PLAIN.key}
    assert cost_rows(ONE_ROW) == {"row": ONE_ROW.key}
    assert not is_too_long(PLAIN, problem)
    assert our_variants.keys(("all",), DeviceKind.CPU)[-1] == PLAIN.key
    assert representative.mask_for(PLAIN, 5, 7).shape == (5, 7)
    assert representative.mask_for(ONE_ROW, 5, 7).shape == (1, 7)


def test_that_the_window_lists_a_new_variant_as_the_host_tells_it(toys, qapp):
    state, workspace = EngineState(), Workspace(Mask(np.ones((3, 3))))
    state.set_ready(Ready(answers.describe(ListRequest(), lambda step: None), ()))
    results = ResultsModel()
    model = VariantsModel(Selection(workspace, state, results))
    assert [row.key for row in model.rows()] == [AUTO, *(known.key for known in toys)]
    listed = [model.index(row, 0).data(ROW_ROLE) for row in range(model.rowCount())]
    keys = [item.key for item in listed if isinstance(item, VariantRow)]
    assert sorted(keys) == sorted([AUTO, *(known.key for known in toys)])
    heads = [item.title for item in listed if not isinstance(item, VariantRow)]
    assert len(heads) == len(set(heads))
    assert series_for(PLAIN.key).symbol


@pytest.mark.usefixtures("toys")
@pytest.mark.parametrize("device", [cpu_info(), GPU], ids=lambda device: device.kind)
def test_that_auto_never_chooses_a_variant_that_was_never_measured(device):
    for mask in (gaussian(5), Mask(np.ones((1, 9))), Mask(np.random.default_rng(1).random((15, 15)))):
        problem = describe_problem(np.zeros((64, 64, 1), np.float32), mask, Border.ZERO, 0.0)
        assert choose(AUTO, problem, mask, Block(32, 8), device).variant.key not in KEYS
        by_name = choose(PLAIN.key, problem, mask, None, device)
        assert by_name.variant is PLAIN


def test_that_every_case_for_all_variants_reaches_a_new_one(toys):
    whole = full_cases()
    assert suited_cases(PLAIN, whole) == suited_cases(serial.VARIANT, whole)
    assert all(case.mask_shape[0] == 1 for case in suited_cases(ONE_ROW, whole))
    assert mask_for(ONE_ROW, 3, 5).shape == (1, 5)
    floats_only = replace(PLAIN, key="floats", integer_output=False)
    problem = describe_problem(np.zeros((8, 8, 1), np.uint8), gaussian(3), Border.ZERO, 0.0, "uint8")
    refusal = floats_only.why_not(problem, gaussian(3), Block(1, 1), GPU.limits, VARIANTS)
    assert PLAIN.key in str(refusal)
