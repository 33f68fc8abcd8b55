from pathlib import Path

from engine.errors import Cancelled, FileWriteError
from engine.geometry.border import Border
from engine.host.protocol import OpenPicture, SaveResult
from engine.host.request import Preview
from gui.page.messages import Severity


def test_that_a_picture_that_cannot_be_opened_leaves_the_old_one_whose_result_is_saved(bench, tmp_path):
    old, outcomes = bench.workspace.picture, []
    bench.pictures.open_path(Path("missing.png"), outcomes.append)
    bench.settle()
    assert bench.workspace.picture is old
    assert bench.messages.newest.what == "missing.png cannot be opened"
    bench.pictures.open_path(Path("other.png"), outcomes.append)
    bench.settle()
    assert bench.messages.newest is None
    assert bench.workspace.picture.title == "other.png"
    assert outcomes == [False, True]
    bench.pictures.save_result(tmp_path / "out.tif", "float32")
    bench.settle()
    (request,) = [seen for seen in bench.fake.seen if isinstance(seen, SaveResult)]
    assert (request.values, request.depth) == (bench.state.last_result.values, "float32")
    assert bench.messages.newest.severity is Severity.INFO
    assert (tmp_path / "out.tif").exists()
    bench.fake.save_notes = ("JPEG has no alpha: it was left out.", "The colour profile was left out.")
    bench.pictures.save_result(tmp_path / "out.jpg")
    bench.settle()
    message = bench.messages.newest
    assert str(tmp_path / "out.jpg") in message.what
    assert message.why == "JPEG has no alpha: it was left out. The colour profile was left out."
    assert message.severity is Severity.WARNING


def test_that_the_picture_asked_for_last_wins_and_one_that_is_replaced_is_kept_while_it_is_read(
    slow_bench, monkeypatch
):
    outcomes = []
    slow_bench.pictures.open_path(Path("first.png"), outcomes.append)
    slow_bench.pictures.open_path(Path("second.png"), outcomes.append)
    slow_bench.settle()
    assert [request.path for request in slow_bench.fake.cancelled] == ["first.png"]
    assert slow_bench.messages.newest is None
    assert slow_bench.state.stage == "opening second.png"
    slow_bench.answer(OpenPicture)
    assert slow_bench.workspace.picture.title == "second.png"
    assert outcomes == [True]
    old = slow_bench.workspace.picture.pixels.name
    slow_bench.runs.run()
    slow_bench.pictures.open_path(Path("next.png"))
    slow_bench.answer_all(OpenPicture)
    assert slow_bench.workspace.picture.title == "next.png"
    assert slow_bench.state.last_result is None
    assert old not in slow_bench.fake.released
    while slow_bench.fake.asked:
        slow_bench.answer()
    assert old in slow_bench.fake.released
    assert slow_bench.state.last_result is not None
    # One that comes in spite of its end is given back.
    monkeypatch.setattr(slow_bench.fake, "cancel", lambda future: None)
    slow_bench.pictures.open_path(Path("first.png"))
    slow_bench.pictures.open_path(Path("second.png"))
    first, second = slow_bench.fake.waiting(OpenPicture)
    slow_bench.fake.answer(second)
    before = set(slow_bench.fake.created)
    slow_bench.answer(first)
    assert slow_bench.workspace.picture.title == "second.png"
    assert slow_bench.fake.created - before <= set(slow_bench.fake.released)


def test_that_the_picture_before_stays_when_opening_is_stopped(slow_bench, monkeypatch):
    old, outcomes = slow_bench.workspace.picture, []
    slow_bench.pictures.open_path(Path("endless.jpg"), outcomes.append)
    slow_bench.settle()
    assert slow_bench.state.stage == "opening endless.jpg"
    with monkeypatch.context() as patch:
        # An engine that is busy with a file is given two seconds.
        patch.setattr(slow_bench.fake, "cancel", lambda future: None)
        slow_bench.pictures.cancel()
        slow_bench.tell("opening endless.jpg", 0.5, OpenPicture)
        assert slow_bench.state.stage == "stopping: opening endless.jpg"
    slow_bench.fail(Cancelled("The run was stopped"), OpenPicture)
    slow_bench.settle()
    assert not slow_bench.fake.waiting(OpenPicture)
    assert not slow_bench.state.busy
    assert slow_bench.messages.newest is None
    assert (slow_bench.workspace.picture, outcomes) == (old, [False])
    slow_bench.pictures.cancel()
    slow_bench.open("next.png")
    assert slow_bench.workspace.picture.title == "next.png"


def test_that_a_result_is_kept_until_it_is_saved_or_reported_why_it_cannot_be(slow_bench, tmp_path):
    values = slow_bench.state.last_result.values.name
    slow_bench.pictures.save_result(tmp_path / "out.png")
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.settle()
    slow_bench.answer_all(Preview)
    assert values not in slow_bench.fake.released
    slow_bench.answer_all(SaveResult)
    assert values in slow_bench.fake.released
    slow_bench.pictures.save_result(tmp_path / "out.png")
    error = FileWriteError("out.png cannot be written", "the disk is full", "Free some space.")
    slow_bench.fail(error, SaveResult)
    assert slow_bench.messages.newest.why == "the disk is full"
    assert not slow_bench.fake.waiting(SaveResult)


def test_that_only_the_result_of_now_is_saved(make_bench, slow_bench, tmp_path):
    empty = make_bench()
    empty.pictures.save_result(tmp_path / "out.png")
    assert "no result" in empty.messages.newest.what
    assert not empty.fake.seen
    slow_bench.workspace.change(border=Border.WRAP)
    slow_bench.pictures.save_result(tmp_path / "out.png")
    assert not slow_bench.fake.waiting(SaveResult)
    assert "earlier result" in slow_bench.messages.newest.why
    slow_bench.workspace.change(border=Border.ZERO)
    slow_bench.pictures.save_result(tmp_path / "out.png")
    assert len(slow_bench.fake.waiting(SaveResult)) == 1
