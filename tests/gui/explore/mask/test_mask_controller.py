import os

import numpy as np
import pytest

from engine.mask.mask import Mask
from gui.explore.mask.mask_controller import MaskController, says_mask
from gui.explore.workspace import Workspace
from gui.page.messages import Messages, Severity

pytestmark = pytest.mark.usefixtures("qapp")

OLD = Mask(np.ones((3, 3)))


@pytest.fixture
def workspace():
    return Workspace(OLD)


@pytest.fixture
def messages():
    return Messages()


@pytest.fixture
def masks(workspace, messages):
    return MaskController(workspace, messages)


@pytest.mark.parametrize("suffix", [".json", ".csv", ".txt"])
def test_that_a_saved_mask_is_loaded_again_as_one_step(masks, workspace, messages, tmp_path, suffix):
    path = tmp_path / f"mine{suffix}"
    masks.save(path)
    assert str(path) in messages.newest.what
    workspace.set_mask(Mask(np.eye(5)))
    masks.load(path)
    assert np.array_equal(workspace.mask.weights, OLD.weights)
    workspace.undo_stack.undo()
    assert workspace.mask.shape == (5, 5)


@pytest.mark.parametrize("name", ["missing.txt", "folder", "empty.txt", "words.txt"])
def test_that_what_is_no_mask_is_told_and_the_mask_stays(masks, workspace, messages, tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "words.txt").write_text("hello there")
    masks.load(tmp_path / name)
    error = messages.newest
    assert error.severity is Severity.ERROR
    assert name in error.what
    assert error.why
    assert error.remedy
    assert workspace.mask is OLD


@pytest.mark.parametrize("name", ["gone/mask.json", "mask.xls"])
def test_that_a_mask_that_cannot_be_saved_is_told(masks, messages, tmp_path, name):
    masks.save(tmp_path / name)
    assert messages.newest.severity is Severity.ERROR
    assert messages.newest.remedy
    assert not (tmp_path / name).exists()


def test_that_a_mask_says_so_in_its_file_and_a_dropped_pipe_is_not_waited_for(masks, tmp_path):
    masks.save(tmp_path / "mask.json")
    (tmp_path / "session.json").write_text('{"format": "haloscope-session"}')
    os.mkfifo(tmp_path / "pipe.json")
    assert says_mask(tmp_path / "mask.json")
    assert not any(says_mask(tmp_path / f"{name}.json") for name in ("session", "missing", "pipe"))
