"""The dialog Batch: the files of the command line, progress, failures, an end on request."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.commands.command_line import main
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.mask.presets import preset
from gui.explore.batch.batch_dialog import BatchEnd, BatchRun
from gui.explore.copy_as import job_sentence, job_words
from gui.explore.workspace import Workspace

# A workspace has timers.
pytestmark = [pytest.mark.usefixtures("qapp"), pytest.mark.fresh_window]

WAIT_MS = 60_000


@pytest.fixture
def photos(tmp_path):
    """Return a folder with three pictures and one that is none."""
    folder = tmp_path / "photos"
    folder.mkdir()
    random = np.random.default_rng(8)
    for name, shape in {"a.png": (40, 50, 3), "b.jpg": (30, 20), "c.tif": (25, 31)}.items():
        engine.save_image(random.integers(0, 256, shape, np.uint8), folder / name)
    (folder / "broken.png").write_bytes(b"no picture")
    return folder


@pytest.fixture
def dialog(haloscope, photos):
    """Return the dialog with that folder, which was dropped on the window."""
    page = haloscope.window.page_of("explore")
    page.workspace.set_mask(preset("sobel-x"), flip=True)
    page.workspace.change(border=Border.MIRROR, range_mode="absolute")
    page.files.open_dropped([str(photos)])
    return page.batch


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_that_what_is_not_there_is_refused_and_files_are_as_by_command(dialog, photos, qtbot, tmp_path):
    dialog.pictures.setText(f"{photos}; /nowhere")
    dialog.start()
    assert "There is no /nowhere." in dialog.sentence.text()
    assert not dialog.run.is_running
    assert dialog.failures.topLevelItemCount() == 0
    assert dialog.bar.value() <= 0
    dialog.pictures.setText(str(photos))
    with qtbot.waitSignal(dialog.run.ended, timeout=WAIT_MS) as ended:
        dialog.start()
    (end,) = ended.args
    out = str(tmp_path / "by-command")
    options = ["--mask", "sobel-x", "--flip", "--border", "mirror", "--range", "absolute"]
    main(["batch", str(photos), "--out", out, *options])
    assert contents(dialog.out.text()) == contents(out)
    assert sorted(contents(out)) == ["a.png", "b.jpg", "c.tif"]
    assert end.sentence.startswith("3 of 4 pictures filtered, 1 failed in ")
    shown = dialog.failures.topLevelItem(0)
    assert (dialog.failures.topLevelItemCount(), shown.text(0)) == (1, "broken.png")
    assert "it is not a picture that this program reads" in shown.text(1)


@pytest.mark.slow
def test_that_it_stops_at_once_and_leaves_whole_files(dialog, qtbot, photos):
    noise = np.random.default_rng(9).integers(0, 256, (900, 900, 3), np.uint8)
    engine.save_image(noise, photos / "0.png")
    for number in range(1, 60):
        shutil.copy(photos / "0.png", photos / f"{number}.png")
    with qtbot.waitSignal(dialog.run.progressed, timeout=WAIT_MS, check_params_cb=lambda done, _: done > 0):
        dialog.start()
    with qtbot.waitSignal(dialog.run.ended, timeout=WAIT_MS) as ended:
        dialog.stop_button.click()
    assert ended.args[0].is_stopped
    assert 0 < dialog.bar.value() < dialog.bar.maximum()
    assert len(contents(dialog.out.text())) < 60
    for name, data in contents(dialog.out.text()).items():
        assert data.endswith(b"IEND\xaeB`\x82"), name


def test_that_the_window_shows_a_batch_and_asks_before_it_closes(dialog, haloscope, qtbot, monkeypatch):
    monkeypatch.setattr(BatchRun, "start", lambda self, words: None)
    state = haloscope.state
    qtbot.waitUntil(lambda: not state.busy)
    dialog.start()
    dialog.run.done = 3
    dialog.run.progressed.emit(3, 4)
    assert (state.busy, state.fraction, state.can_stop) == (True, 0.75, False)
    assert " left" in dialog.sentence.text()
    dialog.run.ended.emit(BatchEnd(why="an end"))
    assert not state.busy
    dialog.start()
    haloscope.window.close()
    assert haloscope.window.isVisible()
    assert haloscope.link.files_being_saved == ("filtered",)
    dialog.run.ended.emit(BatchEnd(why="an end"))
    assert not haloscope.window.isVisible()


def test_that_start_waits_for_pictures_and_a_folder(haloscope):
    haloscope.actions["batch"].trigger()
    dialog = haloscope.window.page_of("explore").batch
    assert not dialog.start_button.isEnabled()
    assert dialog.missing.text()
    dialog.pictures.setText("photos/a.png")
    assert not dialog.start_button.isEnabled()
    dialog.pictures.editingFinished.emit()
    assert Path(dialog.out.text()) == Path("photos/filtered")
    assert dialog.start_button.isEnabled()
    assert not dialog.missing.text()


def test_that_the_job_is_that_of_the_page_but_for_the_simulator(tmp_path):
    workspace = Workspace(preset("sobel-x"))
    workspace.change(border=Border.CONSTANT, cval=-2.5, variant="naive", device="cpu")
    options = ["--border", "constant", "--cval", "-2.5", "--variant", "naive", "--device", "cpu"]
    assert job_words(workspace, tmp_path) == ["--mask", str(tmp_path / "mask.json"), *options]
    assert job_sentence(workspace) == "Sobel x, 3 × 3, constant -2.5 border"
    workspace.set_mask(workspace.mask.with_weight(0, 0, 9.0))
    assert job_sentence(workspace) == "Sobel x, edited, 3 × 3, constant -2.5 border"
    workspace.set_mask(Mask([[1.0, 2.0]]), is_new=True)
    assert job_sentence(workspace) == "Custom mask, 1 × 2, constant -2.5 border"
    workspace.undo_stack.undo()
    workspace.undo_stack.undo()
    workspace = Workspace(preset("sobel-x"))
    workspace.change(variant="naive", device="simulator")
    assert job_words(workspace, tmp_path)[2:] == ["--border", "zero"]
    workspace.choose("median")
    workspace.set_parameter("size", 5)
    assert job_words(workspace, tmp_path) == ["--operation", "median", "--set", "size=5"]
