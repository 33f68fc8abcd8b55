import os

import numpy as np
import pytest

from engine.host.protocol import SaveResult
from engine.mask.mask import Mask
from gui.explore.files import MASK_MARK, declares
from gui.page.messages import Severity


def test_that_a_saved_mask_is_loaded_again_as_one_step(bench, tmp_path):
    mask = bench.workspace.mask
    for suffix in (".json", ".csv", ".txt"):
        path = tmp_path / f"mine{suffix}"
        bench.workspace.set_mask(mask)
        bench.files.save_mask(path)
        assert str(path) in bench.messages.newest.what
        bench.workspace.set_mask(Mask(np.eye(5)))
        bench.files.open_dropped([str(path)])
        np.testing.assert_array_equal(bench.workspace.mask.weights, mask.weights)
        bench.workspace.undo_stack.undo()
        assert bench.workspace.mask.shape == (5, 5)


def test_that_what_is_no_mask_or_cannot_be_saved_is_reported(bench, tmp_path):
    before = bench.workspace.mask
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "words.txt").write_text("hello there")
    for name in ("missing.txt", "folder", "empty.txt", "words.txt"):
        bench.files.load_mask(tmp_path / name)
        error = bench.messages.newest
        assert error.severity is Severity.ERROR
        assert name in error.what
        assert error.why
        assert error.remedy
        assert bench.workspace.mask is before
    save_mask, save_session = bench.files.save_mask, bench.files.save_session
    for save, name in ((save_mask, "gone/m.json"), (save_mask, "m.xls"), (save_session, "gone/on/w.json")):
        save(tmp_path / name)
        assert name in bench.messages.newest.what
        assert bench.messages.newest.severity is Severity.ERROR
        assert bench.messages.newest.remedy
        assert not (tmp_path / name).exists()


def test_that_only_a_file_of_a_mask_is_taken_for_one(bench, tmp_path):
    bench.files.save_mask(tmp_path / "mask.json")
    bench.files.save_session(tmp_path / "session.json")
    os.mkfifo(tmp_path / "pipe.json")
    assert declares(tmp_path / "mask.json", MASK_MARK)
    assert not any(declares(tmp_path / f"{name}.json", MASK_MARK) for name in ("session", "missing", "pipe"))


def test_that_the_menu_of_samples_says_how_large_each_is(haloscope):
    titles = [action.text() for action in haloscope.commands.samples]
    assert titles[0] == "Astronaut, 512 × 512"
    assert "Impulse, 63 × 63" in titles
    assert all(action.icon().isNull() for action in haloscope.commands.samples)


@pytest.mark.parametrize(("name", "metadata"), [("save", True), ("save_bare", False)])
def test_that_a_result_is_saved_with_metadata_or_without_as_was_asked(haloscope, tmp_path, name, metadata):
    haloscope.actions[name].trigger()
    dialog = haloscope.files.dialog
    assert ("without metadata" in dialog.windowTitle()) is not metadata
    dialog.fileSelected.emit(str(tmp_path / "out.png"))
    dialog.reject()
    (request,) = [one for one in haloscope.link._client.seen if isinstance(one, SaveResult)]
    assert request.metadata is metadata
