"""`batch`: many files in, a folder of results out, even if some fail."""

import errno
import json
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import engine
import engine.image.save
from engine.commands import batch as batch_command
from engine.commands import batch_loop, picture_work
from engine.commands.output import log
from engine.device import host_memory
from engine.device.host_memory import PictureMemory, UnusedBuffers
from engine.errors import OutOfDeviceMemory, VerificationFailed
from engine.flow.stream import Preparing, Stream
from engine.image import formats
from engine.image.open import sample_path
from tests.engine.commands.conftest import LOST, Left, make_every_variant_wrong

MASK = "--mask gaussian:5:1 --border mirror --device cpu"


@pytest.fixture
def batch(command, out):
    """Return a function that filters files into that folder; it checks the exit status."""

    def do(*arguments, status=0):
        answer = command("batch --out", out, MASK, *arguments)
        assert answer.status == status, answer
        return answer

    return do


@pytest.fixture
def in_a_stream(monkeypatch):
    """Filter as on a GPU: in a stream, while workers open and save."""
    monkeypatch.setattr(batch_loop, "is_streamed", lambda plan: True)


@pytest.fixture(params=["cores", "stream"])
def where(request):
    """Filter on the cores, and as on a GPU."""
    if request.param == "stream":
        request.getfixturevalue("in_a_stream")
    return request.param


def others_wait(monkeypatch, event, *first):
    """Let pictures with other names be opened once an event is set."""
    job_for = batch_loop.job_for

    def looked_up(how, file, *given):
        assert file.source.endswith(first) or event.wait(60)
        return job_for(how, file, *given)

    monkeypatch.setattr(batch_loop, "job_for", looked_up)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["auto", "float32", "same"])
def test_that_results_are_those_of_filter_beside_a_bad_file(
    batch, command, photos, out, tmp_path, where, kind
):
    answer = batch(photos, "--recursive --result-type", kind, status=2)
    assert names(out) == ["grey.png", "more/deep.png", "rgb.tif"]
    for name in names(out):
        alone = tmp_path / Path(name).name
        assert command("filter", photos / name, alone, MASK, "--result-type", kind).status == 0
        assert alone.read_bytes() == (out / name).read_bytes()
    first, second, third = answer.out.splitlines()
    assert first.startswith(f"3 of 4 pictures filtered into {out}, by cpu-")
    assert "each verified" in first
    assert second == "1 failed:"
    assert third.startswith(f"  {photos / 'broken.png'} cannot be opened: it ends after 500 bytes")
    assert sorted(line.split()[0] for line in answer.err.splitlines()) == [f"[{n}/4]" for n in (1, 2, 3, 4)]
    assert f"{photos / 'grey.png'} -> {out / 'grey.png'}" in answer.err


def test_that_a_pattern_that_matches_nothing_stops_nothing(batch, photos, out):
    answer = batch(photos / "*.jpg", photos / "gr*.png", status=2)
    assert names(out) == ["grey.png"]
    assert f"\n  {photos / '*.jpg'}: it is a pattern, and no file matches it." in answer.out
    assert answer.err.count("no file matches it") == 1


def test_that_results_within_the_input_are_not_filtered_again(command, photos):
    (photos / "broken.png").unlink()
    out = photos / "more" / "out"
    for again in ("", "--overwrite"):
        assert command("batch", photos, "--recursive --out", out, MASK, again).status == 0
    assert names(out) == ["grey.png", "more/deep.png", "rgb.tif"]


def test_that_nothing_is_replaced_unasked(batch, photos, out):
    out.mkdir()
    (out / "grey.png").write_bytes(b"mine")
    answer = batch(photos / "grey.png", photos / "rgb.tif", status=2)
    assert (out / "grey.png").read_bytes() == b"mine"
    assert "grey.png: it exists; use --overwrite to replace it" in answer.out
    assert names(out) == ["grey.png", "rgb.tif"]
    batch(photos / "grey.png", "--overwrite")
    assert engine.open_image(out / "grey.png").pixels.shape == (9, 7)


def test_that_a_batch_goes_on_where_it_was_stopped(batch, photos, out):
    (photos / "broken.png").unlink()
    batch(photos / "grey.png")
    before = (out / "grey.png").stat().st_mtime_ns
    answer = batch(photos, "--recursive --skip-existing")
    assert "2 of 2 pictures filtered into" in answer.out
    assert ", 1 more were there" in answer.out
    assert (out / "grey.png").stat().st_mtime_ns == before
    assert names(out) == ["grey.png", "more/deep.png", "rgb.tif"]
    found = json.loads(batch(photos, "--recursive --skip-existing --json").out)
    assert (found["pictures"], found["done"], found["skipped"]) == (3, 0, 3)


def test_that_a_result_that_was_cut_short_is_not_taken_for_done(batch, photos, out):
    batch(photos / "grey.png")
    whole = (out / "grey.png").read_bytes()
    (out / "grey.png").write_bytes(whole[:-30])
    answer = batch(photos / "grey.png", "--skip-existing", status=2)
    assert "grey.png: it exists and is no whole picture: " in answer.out
    assert (out / "grey.png").read_bytes() == whole[:-30]


def test_that_a_dry_run_says_all_and_writes_nothing(batch, photos, out):
    np.save(photos / "large.npy", np.zeros((5, 7), np.float32))
    engine.save_image(np.zeros((4, 4), np.float32), photos / "floats.tif")
    batch(photos / "grey.png")
    before = sorted(out.rglob("*"))
    arguments = photos, "--skip-existing --dry-run"
    found = json.loads(batch(*arguments, "--json", status=2).out)
    actions = {Path(file["input"]).name: file["action"] for file in found["files"]}
    done = {"floats.tif": "filter", "large.npy": "filter", "rgb.tif": "filter"}
    assert actions == {"broken.png": "refuse", **done}
    assert (found["pictures"], found["to_do"], found["skipped"], found["refused"]) == (5, 3, 1, 1)
    assert "refuse" in (answer := batch(*arguments, status=2)).out
    assert "broken.png" in answer.out
    assert sorted(out.rglob("*")) == before


def test_that_a_dry_run_refuses_what_a_format_cannot_hold_and_the_folder_that_the_run_does(
    batch, command, photos, out
):
    engine.save_image(np.zeros((4, 4), np.float32), photos / "floats.tif")
    answer = batch(photos / "floats.tif", "--dry-run --format jpg", status=2)
    assert "JPEG does not hold 32-bit float values" in answer.out
    assert not out.exists()
    for dry in ("", "--dry-run"):
        answer = command("batch", photos, "--out", photos / "letter.txt" / "out", MASK, dry)
        assert (answer.status, "letter.txt" in answer.err) == (2, True), answer


def test_that_a_file_that_appears_meanwhile_is_not_replaced_unasked(batch, monkeypatch, photos, out):
    encoded = picture_work.encoded_image

    def encode_while_another_writes(picture, target, **how):
        Path(target).write_bytes(b"mine")
        return encoded(picture, target, **how)

    monkeypatch.setattr(picture_work, "encoded_image", encode_while_another_writes)
    answer = batch(photos / "grey.png", status=2)
    assert "grey.png: it exists; use --overwrite to replace it" in answer.out
    assert (out / "grey.png").read_bytes() == b"mine"
    batch(photos / "grey.png", "--overwrite")
    assert engine.open_image(out / "grey.png").pixels.shape == (9, 7)


def test_that_a_folder_that_cannot_be_read_stops_nothing(batch, monkeypatch, photos, out):
    (photos / "broken.png").unlink()
    scandir = os.scandir

    def refuse(folder):
        if Path(folder).name == "more":
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    answer = batch(photos, "--recursive", status=2)
    assert names(out) == ["grey.png", "rgb.tif"]
    assert f"\n  {photos / 'more'} cannot be searched: this folder cannot be read." in answer.out


def test_that_no_picture_of_the_batch_is_replaced_by_a_result_unasked(command, photos, tmp_path):
    before = {path: path.read_bytes() for path in photos.glob("*.png")}
    answer = command("batch", photos, "--out", photos, MASK)
    assert answer.status == 2
    assert "is the picture itself: its result would replace it. Give --out another folder, or" in answer.out
    assert {path: path.read_bytes() for path in before} == before
    engine.save_image(np.full((5, 4), 9, np.uint8), tmp_path / "a.jpg")
    engine.save_image(np.array([[0, 90], [255, 30], [8, 0]], np.uint8), tmp_path / "a.png")
    whole = (tmp_path / "a.png").read_bytes()
    answer = command("batch", tmp_path, "--out", tmp_path, "--format png --overwrite", MASK)
    assert answer.status == 2
    assert "a.png cannot be written: it is another picture of this batch" in answer.out
    assert (tmp_path / "a.png").read_bytes() != whole  # by its own result
    assert engine.open_image(tmp_path / "a.png").pixels.shape == (3, 2)


def test_that_two_pictures_of_one_name_do_not_share_a_result(batch, photos, out):
    engine.save_image(np.zeros((2, 2), np.uint8), photos / "more" / "grey.png")
    answer = batch(photos / "grey.png", photos / "more" / "grey.png", status=2)
    assert f"the result of {photos / 'grey.png'} has the same name" in answer.out
    assert engine.open_image(out / "grey.png").pixels.shape == (9, 7)


def test_that_a_format_serves_all_pictures_that_it_can_hold(batch, photos, out):
    Image.new("L", (4, 3), 7).save(photos / "old.bmp")
    engine.save_image(np.zeros((3, 3), np.float32), photos / "float.tif")
    answer = batch(photos / "old.bmp", status=2)
    written = formats.in_words(suffix.removeprefix(".") for suffix in formats.offered_suffixes())
    assert f".bmp files are not written. Choose what to write: --format {written}." in answer.out
    answer = batch(photos / "old.bmp", photos / "float.tif", "--format png", status=2)
    assert names(out) == ["old.png"]
    assert "PNG does not hold 32-bit float" in answer.out


def test_that_json_is_one_document_with_every_file(batch, photos, out):
    document = batch(photos, "nowhere.png --json", status=2).document
    assert (document["format"], document["done"], document["failed"]) == ("haloscope-batch", 2, 2)
    assert document["devices"] == [engine.list_devices()[0].title]
    broken, grey, rgb, nowhere = document["files"]
    assert (broken["output"], broken["verification"]) == (None, None)
    assert grey["verification"]["passed"] is True
    assert rgb["output"] == str(out / "rgb.tif")
    failure = "nowhere.png cannot be opened: there is no such file. Check the name and the folder."
    assert nowhere["failure"] == failure


def wrong(*_):
    raise VerificationFailed("The result", "it is wrong", "Choose another variant.")


# Each worker holds a picture and its result.
@pytest.mark.parametrize("fails", [False, True])
def test_that_many_pictures_use_the_memory_of_a_few(batch, monkeypatch, tmp_path, out, where, fails):
    if fails:
        monkeypatch.setattr(picture_work.PictureWork, "verified", wrong)
    monkeypatch.setattr(batch_loop, "cores", lambda: 2)
    for name in ("PLACED_FROM_BYTES", "REUSED_FROM_BYTES"):
        monkeypatch.setattr(host_memory, name, 0)
    take, made = UnusedBuffers.take, []

    def taken(self, size):
        if (found := take(self, size)) is None:
            made.append(size)
        return found

    monkeypatch.setattr(UnusedBuffers, "take", taken)
    for number in range(24):
        engine.save_image(np.full((5, 6, 3), number, np.uint8), tmp_path / f"{number}.png")
    batch(tmp_path, status=4 if fails else 0)
    assert len(names(out)) == (0 if fails else 24)
    assert len(made) <= (4 if where == "cores" else 8)


def test_that_pictures_wait_for_the_memory_of_others(batch, monkeypatch, tmp_path, out, where):
    for name in ("MOST_BYTES", "MOST_BYTES_PER_CORE"):
        monkeypatch.setattr(batch_loop, name, 1)
    enter, leave, inside = PictureMemory.enter, PictureMemory.leave, []

    def entered(self, size, loan):
        enter(self, size, loan)
        inside.append(size)
        assert len(inside) == 1

    def left(self, size):
        if size:
            inside.remove(size)
        leave(self, size)

    monkeypatch.setattr(PictureMemory, "enter", entered)
    monkeypatch.setattr(PictureMemory, "leave", left)
    for number in range(9):
        engine.save_image(np.full((5, 6, 3), number, np.uint8), tmp_path / f"{number}.png")
    batch(tmp_path)
    assert len(names(out)) == 9


def test_that_a_wrong_result_is_not_saved(batch, monkeypatch, photos, out):
    make_every_variant_wrong(monkeypatch)
    answer = batch(photos / "grey.png", photos / "broken.png", status=4)
    assert names(out) == []
    assert "not verified: row 0" in answer.out
    batch(photos / "grey.png", "--no-verify")
    assert names(out) == ["grey.png"]


def test_that_a_stream_that_breaks_off_is_taken_up_again(batch, monkeypatch, in_a_stream, photos, out):
    (photos / "broken.png").unlink()
    calls = []

    class BreaksOff(Stream):
        def wait(self):
            calls.append(1)
            if len(calls) == 1:
                raise OutOfDeviceMemory("picture 2 of the batch", "the device is full", "Use a smaller one.")
            return super().wait()

    monkeypatch.setattr(batch_loop, "Stream", BreaksOff)
    batch(photos, "--recursive --result-type float32")
    assert len(calls) >= 1
    assert names(out) == ["grey.png", "more/deep.png", "rgb.tif"]


def test_that_results_from_before_a_lost_device_are_saved(batch, left, monkeypatch, in_a_stream, photos, out):
    ready, is_written = Preparing.ready, threading.Event()

    def lose(self, chosen, shape):
        if shape[2] == 3:
            raise LOST
        return ready(self, chosen, shape)

    def written(*arguments, **how):
        write_result(*arguments, **how)
        is_written.set()

    write_result = batch_loop.write_result
    monkeypatch.setattr(Preparing, "ready", lose)
    monkeypatch.setattr(batch_loop, "write_result", written)
    others_wait(monkeypatch, is_written, "grey.png")
    answer = batch(photos / "grey.png", photos / "rgb.tif", status=3)
    assert left == [3]
    assert names(out) == ["grey.png"]
    assert answer.out.splitlines()[1] == "1 failed:"
    assert answer.err.splitlines()[-1] == "cuda:0: illegal address. Start again."


def test_that_a_stopped_stream_says_what_is_there(batch, ctrl_c, photos, out, monkeypatch, in_a_stream):
    result_array, is_stopped = batch_loop.OpenedJob.result_array, threading.Event()

    def interrupted(job):
        # The second waits until the batch is stopped.
        if job.file.source.endswith("grey.png"):
            ctrl_c()
            is_stopped.set()
        return result_array(job)

    monkeypatch.setattr(batch_loop.OpenedJob, "result_array", interrupted)
    others_wait(monkeypatch, is_stopped, "grey.png")
    answer = batch(photos / "grey.png", photos / "rgb.tif", status=130)
    assert "Stopped: 1 of 2 pictures filtered into" in answer.out
    assert names(out) == ["grey.png"]


def test_that_a_second_interrupt_ends_a_batch_at_once(batch, ctrl_c, photos, out, monkeypatch):
    def log_and_stop(line):
        log(line)
        ctrl_c()
        ctrl_c()

    monkeypatch.setattr(batch_loop, "cores", lambda: 1)
    monkeypatch.setattr(batch_command, "log", log_and_stop)
    with pytest.raises(Left) as left:
        batch(photos / "grey.png", photos / "rgb.tif")
    written = re.fullmatch(r"Stopped: (\d) of 2 pictures filtered into .*\.", str(left.value))
    assert 1 <= int(written[1]) <= len(names(out))


def test_that_a_stopped_batch_saves_just_what_is_in_its_filter(batch, ctrl_c, photos, out, monkeypatch):
    begun, stopped = threading.Event(), threading.Event()
    filter_one = engine.api.request.PictureCall.filter
    monkeypatch.setattr(batch_loop, "cores", lambda: 3)
    monkeypatch.setattr(batch_loop, "Event", lambda: stopped)
    files = [photos / f"{name}.png" for name in "abcd"]
    for shade, path in enumerate(files):
        engine.save_image(np.full((3, 4), shade, np.uint8), path)

    def log_and_stop(line):
        log(line)
        if not stopped.is_set():
            ctrl_c()

    def filtered(self, out=None):
        # The first ends, and stops the batch, when the second is in its filter.
        is_second = bool(self.samples[0, 0])
        if is_second:
            begun.set()
        assert (stopped if is_second else begun).wait(60)
        return filter_one(self, out)

    monkeypatch.setattr(batch_command, "log", log_and_stop)
    others_wait(monkeypatch, stopped, "a.png", "b.png")
    monkeypatch.setattr(engine.api.request.PictureCall, "filter", filtered)
    answer = batch(*files, status=130)
    assert "Stopped: 2 of 4 pictures filtered into" in answer.out
    assert names(out) == ["a.png", "b.png"]


def test_that_what_an_option_or_a_result_could_not_do_is_noted_once_with_its_file(
    batch, photos, out, tmp_path
):
    pictures = (photos / "grey.png", photos / "rgb.tif")
    # Files may stand before and after options.
    answer = batch(pictures[0], "--block 8x8 --variant cpu-serial --quality 30", pictures[1])
    assert names(out) == ["grey.png", "rgb.tif"]
    assert answer.err.count("--block was not used") == 1
    note = f"note: --quality was not used: it is for {formats.quality_words()}.\n"
    assert answer.err.count(note) == 1
    assert note not in batch(*pictures, "--quality 30 --format jpg").err
    source = tmp_path / "in.tif"
    engine.save_image(np.array([[1, np.nan]], np.float32), source)
    note = "Of 2 samples of the result 1 is NaN, which 8 bit cannot hold: saved as 0."
    assert f"note: {source}: {note}" in batch(source, "--mask 1 --depth 8 --format png").err


def test_that_clipped_results_are_said_once_for_the_run(command, tmp_path, out):
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(sample_path("camera").read_bytes())
    answer = command(
        "batch", tmp_path / "a.png", tmp_path / "b.png", "--out", out, "--mask sobel-x --device cpu"
    )
    assert answer.err.count("--range absolute") == 1
    assert "2 of 2 results are clipped by more than 20 %" in answer.err
