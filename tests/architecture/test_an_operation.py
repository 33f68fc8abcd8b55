"""What a new operation costs: its file and a line that names it. A toy one is found everywhere."""

import json
import sys
from types import ModuleType

import dask.array as dask_array
import numpy as np
import pytest
from PySide6.QtWidgets import QWidget

import engine
from engine.errors import BadValue, UnknownName
from engine.image.save import save_image
from engine.run.variant import ON_CPU
from engine.work import answers
from engine.work.messages import ListRequest
from engine.work.operations.contract import (
    OPERATIONS,
    OfCells,
    Operation,
    OperationVariant,
    Parameter,
    operation_work,
    pixel_alone,
    rising,
)
from gui.engine_link.engine_link import SegmentKeeper
from gui.engine_link.engine_state import EngineState
from gui.explore.mask.mask_panel import OperationChoice
from gui.explore.preview_controller import Display
from tests.gui.made_results import make_workspace


def levels(cells, problem):
    return cells[..., 0, 0] // problem.whole("step") * problem.whole("step")


class Steps:
    def __init__(self, problem):
        self._step = problem.whole("step")

    def launch(self, image, out, stream=None):
        out[...] = image // self._step * self._step


CPU = OperationVariant(
    **ON_CPU,
    prepare=lambda problem, constant, block: Steps(problem),
    key="toy-posterise",
    title="A toy",
    idea="Nothing.",
    work=lambda problem, block: operation_work(problem, picture_loads=problem.samples, flops=problem.samples),
)


TOY = Operation(
    key="posterise",
    title="Posterise",
    teaches="Fewer levels.",
    parameters=(Parameter("step", "Step", "Of levels.", 64, least=1, most=128),),
    window=pixel_alone,
    of_cells=OfCells(rising(levels), jumps=True),
    proof="Equal.",
    variants=(CPU,),
)


@pytest.fixture
def toy(monkeypatch):
    """Its file, and the line of the table."""
    file = ModuleType("engine.variants.operations.posterise")
    file.POSTERISE = TOY
    monkeypatch.setitem(sys.modules, file.__name__, file)
    monkeypatch.setitem(OPERATIONS.files, "posterise", "posterise")


@pytest.mark.usefixtures("toy")
def test_that_python_takes_it_as_any_other_operation():
    picture = np.arange(60, dtype=np.uint8).reshape(6, 10)
    found = engine.operate(picture, "posterise", step=16, device="cpu")
    assert np.array_equal(found.picture, picture // 16 * 16)
    assert found.result.is_proven
    with pytest.raises(BadValue, match="step 0: it is not a whole number from 1 to 128"):
        engine.operate(picture, "posterise", step=0, device="cpu")
    with pytest.raises(UnknownName, match="posterise"):
        engine.operate(picture, "poster", device="cpu")


@pytest.mark.usefixtures("toy")
def test_that_chains_dask_and_files_in_parts_take_it_as_any_other_operation(command, tmp_path):
    picture, step = (
        np.arange(60, dtype=np.uint8).reshape(6, 10),
        {"operation": "posterise", "settings": {"step": 32}},
    )
    wanted = picture // 32 * 32
    assert np.array_equal(engine.chain(picture, [step], device="cpu").values, wanted)
    blocks = dask_array.from_array(picture, chunks=4)
    assert np.array_equal(engine.filter_dask(blocks, [step], device="cpu").compute(), wanted)
    (tmp_path / "in").mkdir()
    save_image(picture, tmp_path / "in" / "one.tif")
    options = ("--operation", "posterise", "--set", "step=32")
    command("batch", tmp_path / "in", "--out", tmp_path / "all", *options)
    parts = command("filter", tmp_path / "in" / "one.tif", tmp_path / "part.tif", *options, "--memory", "4G")
    assert parts.status == 0, parts
    for path in (tmp_path / "all" / "one.tif", tmp_path / "part.tif"):
        assert np.array_equal(engine.open_image(path).pixels.reshape(wanted.shape), wanted)


@pytest.mark.usefixtures("toy")
def test_that_the_command_line_takes_it_as_any_other_operation(command, tmp_path):
    entries = json.loads(command("variants", "--json").out)["variants"]
    assert ("toy-posterise", "posterise") in [(entry["key"], entry.get("operation")) for entry in entries]
    source, out = tmp_path / "in.png", tmp_path / "out.png"
    save_image(np.arange(60, dtype=np.uint8).reshape(6, 10), source)
    answer = command("filter", source, out, "--operation", "posterise", "--set", "step=32")
    assert "posterise (step=32) by toy-posterise" in answer.out
    assert sorted(set(engine.open_image(out).pixels.flat)) == [0, 32]
    options = ("--operation", "posterise", "--sizes", "8", "--dtype", "uint8", "--budget", "0")
    measured = command("bench", "--out", tmp_path / "r.json", "--json", *options)
    assert json.loads(measured.out)["results"][0]["variant"] == "toy-posterise"


@pytest.mark.usefixtures("toy")
def test_that_the_window_offers_it_with_its_parameter_and_its_variant(qapp, qtbot):
    workspace, state = make_workspace(), EngineState()
    display = Display(workspace, state, SegmentKeeper(lambda *names: None))
    choice = OperationChoice(QWidget(), workspace, display, QWidget)
    qtbot.addWidget(choice)
    choice.fill()
    box = choice.box
    at = box.findText("Posterise")
    state.set_operations(answers.describe(ListRequest("operations"), lambda step: None))
    box.activated.emit(at)
    assert workspace.job().operation.operation == "posterise"
    assert [variant.key for variant in state.variants_of("posterise")] == ["toy-posterise"]
    panel = choice.panel("posterise")
    assert list(panel.parameters.controls) == ["step"]
