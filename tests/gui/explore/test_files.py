import os
import re

import numpy as np
from msgspec.structs import force_setattr

from engine.host.protocol import SaveResult
from engine.image.formats import format_to_save
from engine.image.metadata import Metadata
from engine.image.open import open_image
from engine.image.save import save_image
from engine.mask.mask import Mask
from gui.explore.files import MASK_MARK, declares, depth_in, result_filters
from gui.page.messages import Severity


def test_that_a_saved_mask_is_loaded_again_as_one_step_and_no_other_file_is_taken_for_one(bench, tmp_path):
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
    bench.files.save_mask(tmp_path / "mask.json")
    bench.files.save_session(tmp_path / "session.json")
    os.mkfifo(tmp_path / "pipe.json")
    assert declares(tmp_path / "mask.json", MASK_MARK)
    assert not any(declares(tmp_path / f"{name}.json", MASK_MARK) for name in ("session", "missing", "pipe"))


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


def test_that_a_result_is_saved_with_metadata_or_without_and_the_quality_of_a_jpeg_is_asked(
    haloscope, tmp_path
):
    for name, metadata in (("save", True), ("save_bare", False)):
        haloscope.actions[name].trigger()
        dialog = haloscope.files.dialog
        assert ("without metadata" in dialog.windowTitle()) is not metadata
        dialog.fileSelected.emit(str(tmp_path / "out.png"))
        dialog.reject()
        *_, request = [one for one in haloscope.link._client.seen if isinstance(one, SaveResult)]
        assert request.metadata is metadata
    force_setattr(haloscope.workspace.picture, "metadata", Metadata(quality=81))
    for chosen, first in ((81, 81), (60, 81), (None, 60)):
        haloscope.actions["save"].trigger()
        haloscope.files.dialog.fileSelected.emit(str(tmp_path / "out.jpg"))
        haloscope.files.dialog.reject()
        dialog = haloscope.window.first_page.files.question
        assert dialog.intValue() == first
        if chosen:
            dialog.setIntValue(chosen)
            dialog.accept()
        else:
            dialog.reject()
    requests = [one for one in haloscope.link._client.seen if isinstance(one, SaveResult)]
    assert [one.quality for one in requests[2:]] == [81, 60]


def test_that_every_form_that_is_offered_can_be_saved_and_the_first_keeps_all(tmp_path):
    for with_float in [True, False]:
        for dtype in ["uint8", "uint16", "float32"]:
            pixels = np.linspace(0, 1, 48, dtype=np.float32).reshape(6, 8)
            pixels = pixels if dtype == "float32" else np.rint(pixels * np.iinfo(dtype).max).astype(dtype)
            offered = result_filters(np.dtype(dtype), with_float=with_float)
            for number, (words, depth) in enumerate(offered.items()):
                path = tmp_path / f"{number}{re.search(r'[.][a-z]+', words)[0]}"
                assert depth in (depth_in(format_to_save(path), np.dtype(dtype)), "float32")
                save_image(pixels, path, depth=depth)
                found = open_image(path).pixels
                if number == 0:
                    np.testing.assert_array_equal(found, pixels)
                # Black is black and white is white in every form.
                full = 1.0 if found.dtype == np.float32 else np.iinfo(found.dtype).max
                if depth != "float32":
                    assert found.min() <= 0.03 * full
                    assert found.max() >= 0.97 * full


def test_that_results_are_saved_in_the_depth_of_the_ending_typed(haloscope, tmp_path, qtbot, monkeypatch):
    asked = []
    monkeypatch.setattr(haloscope.pictures, "save_result", lambda path, depth, **_: asked.append(depth))
    haloscope.actions["save"].trigger()
    dialog = haloscope.files.dialog
    (exact,) = [one for one in dialog.nameFilters() if one.startswith("TIFF, 32-bit")]
    dialog.selectNameFilter(exact)
    for name in ("out.tif", "out.png"):
        dialog.fileSelected.emit(str(tmp_path / name))
    assert asked == ["float32", "keep"]
    (tmp_path / "one.png").write_bytes(b"x")
    haloscope.pictures.open_path(tmp_path / "one.png")
    qtbot.waitUntil(lambda: haloscope.workspace.picture.title == "one.png")
    assert haloscope.files.folder == str(tmp_path)
