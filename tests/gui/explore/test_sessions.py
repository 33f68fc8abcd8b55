"""Sessions: everything comes back, and of a file that is damaged, cut or newer as much as can be read."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.mask.text import parse_mask
from gui.engine_link.engine_start import FirstPicture
from gui.explore.jobs import chain_of, comparable_of, comparable_of_result, step_of
from gui.explore.results.results_model import RunWithJob
from gui.explore.session_file import LARGEST_BYTES, SessionError, encoded, load_session, save_session
from gui.explore.sessions import Session, View, digest_of
from gui.explore.state import EditedStep, PictureSource, State, StepSettings
from gui.page.contract import Begin
from tests.made_runs import make_failure, make_result

MASK = Mask([[0.1, -2.5], [1 / 3, 4e-9], [0, 7]], anchor=(2, 0), offset=-3.25, name="Größe ±")
SETTINGS = StepSettings(
    border=Border.CONSTANT, cval=12.5, flip=True, normalise=True, variant="tiled", device="cuda:0",
    block=Block(32, 4), range_mode="absolute", baseline="naive", layout=Layout.PACKED, result_type="same",
    blocks=(Block(8, 8), Block(32, 4)),
)  # fmt: skip


def kept_run(result, *said, **of):
    return RunWithJob(result, comparable_of_result(result), *said, **of)


def full_session(folder):
    """Return a session with something of everything."""
    step = EditedStep(MASK, "Größe ±", "", SETTINGS)
    other = step.with_operation("median").with_settings(parameters={"size": 5}, block=Block(8, 8))
    other = replace(other, id="s2", input="picture", on=False)
    state = State((step, other), 1, PictureSource(str(folder / "photo.png")))
    naive = step.with_settings(variant="naive", block=None)
    runs = (
        kept_run(make_result("tiled", 2.0), "before the fix", True, step=step, source=state.source),
        kept_run(make_result("naive", 4.0), step=naive, source=state.source),
        kept_run(make_failure("tiled")),
    )
    view = View(mode="split", zoom=2.0, row=3, column=4, panels=("mask",), run=1)
    return Session(state, runs, "ab" * 16, view, {"network": {"batch": 3}})


def kept_of(session):
    """Return a session to compare: equal masks may have different names."""
    return session, [step.mask.name for step in session.state.steps]


def test_that_a_session_comes_back_as_it_was_saved_also_the_mask_as_typed(tmp_path):
    for name in (b"photo.png", b"\xff.png"):
        session = full_session(tmp_path)
        path = os.fsdecode(bytes(tmp_path) + b"/" + name)
        session = replace(session, state=replace(session.state, source=PictureSource(path)))
        save_session(tmp_path / "work.haloscope", session)
        assert kept_of(load_session(tmp_path / "work.haloscope")) == kept_of(session)
    mask = parse_mask("1/9 2 1; 2 4 2; 1 2 1 /16")
    save_session(tmp_path / "typed.haloscope", Session(State((EditedStep.of(mask),))))
    loaded = load_session(tmp_path / "typed.haloscope").state.step
    assert (loaded.mask, loaded.mask.typed) == (mask, mask.typed)
    assert loaded == EditedStep.of(mask) != EditedStep.of(Mask(mask.weights))


@pytest.mark.slow
def test_that_a_session_that_is_cut_anywhere_opens_up_to_there(tmp_path):
    session = full_session(tmp_path)
    data, path = encoded(session), tmp_path / "cut.haloscope"
    header = data.index(b"\n")
    for at in range(0, len(data) - 1, 37):
        path.write_bytes(data[:at])
        if at < header:
            with pytest.raises(SessionError):
                load_session(path)
            continue
        found = load_session(path)
        chain_of(found.state)
        assert any("ends early" in sentence for sentence in found.left_out), at
        # A line is whole without its end, too.
        until = at + (data[at : at + 1] == b"\n")
        whole = data[:until].count(b"\n")
        assert found.state.steps[: whole - 2] == session.state.steps[: max(whole - 2, 0)][:2]
        results = data[: data[:until].rindex(b"\n")].count(b'"section": "result"')
        assert found.runs == session.runs[:results]


def lines_of(session):
    return [json.loads(line) for line in encoded(session).splitlines()]


def read_lines(tmp_path, lines):
    path = tmp_path / "work.haloscope"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return load_session(path)


def test_that_of_a_newer_or_damaged_session_what_is_known_opens_and_the_rest_is_said(tmp_path):
    session = full_session(tmp_path)
    lines = lines_of(session)
    lines[0]["version"] = 9
    step = next(line for line in lines if line["section"] == "step")
    step["settings"] |= {"border": "torus", "dithering": True}
    step["colour"] = "red"
    lines.insert(3, {"section": "dreams", "deep": 1})
    found = read_lines(tmp_path, lines)
    first = session.state.steps[0]
    assert found.state.steps[0] == first.with_settings(border=Border.ZERO)
    assert found.runs == session.runs
    said = "\n".join(found.left_out)
    for word in ("another version", "torus", '"dithering"', '"colour"', "'dreams'"):
        assert word in said
    assert all(sentence.endswith(".") for sentence in found.left_out)
    for name, value in WRONG_SETTINGS:
        lines = lines_of(Session(State((EditedStep.of(MASK),))))
        lines[2]["settings"][name] = value
        found = read_lines(tmp_path, lines)
        assert found.state == State((EditedStep.of(MASK),))
        assert f'"{name}"' in found.left_out[0]
    for section in WRONG_LINES:
        lines = lines_of(full_session(tmp_path))
        damaged = {"section": section} | WRONG_LINES[section]
        found = read_lines(tmp_path, [*lines[:-1], damaged, lines[-1]])
        assert found.runs == full_session(tmp_path).runs
        assert section == "view" or f"'{section}' in line {len(lines)}" in found.left_out[0]
    for table, says in (
        ({"operation": "sharpest"}, "no such operation"),
        ({"operation": "median", "settings": {"parameters": {"size": 4}}}, "size"),
        ({"operation": "median", "settings": {"parameters": {"radius": 4}}}, "no such parameter"),
    ):
        lines = lines_of(Session(State((EditedStep.of(MASK),))))
        lines[2] |= table
        assert says in read_lines(tmp_path, lines).left_out[0]


WRONG_SETTINGS = [
    ("border", "torus"), ("layout", "dense"), ("result_type", "uint8"), ("flip", 1), ("cval", "1"),
    ("block", [0, 16]), ("block", [16]), ("block", [16, 2048]), ("block", "16x16"),
    ("blocks", [[8, 8], None]), ("blocks", "most"), ("blocks", [[8, 8]] * 3000),
    ("range_mode", "wrap"), ("variant", None), ("variant", "x" * 5000), ("variant", "a\0b"),
    ("patch_path", 3), ("parameters", 3),
]  # fmt: skip


WRONG_LINES = {
    "step": {"mask": {"weights": [["1"]]}},
    "picture": {"path": 3},
    "page": {"key": "network", "part": 7},
    "result": {"result": {"task": "filtering"}},
    "problem": {"number": "first"},
    "view": {"section": "view", "zoom": [], "mode": 7, "panels": 3, "run": "x"},
}


DAMAGED = {
    "empty": "", "cut": "{", "list": "[1]", "deep": "[" * 100_000, "digits": "1" * 5000,
    "bytes": "\ufeff\udcff".encode("utf-8", "surrogatepass").decode("latin1"),
    "other": '{"format": "other"}', "version": '{"format": "haloscope-session", "version": 2}',
    "NaN": '{"format": "haloscope-session", "version": NaN}',
    "infinite": '{"format": "haloscope-session", "version": 1e999}',
    "whole": '{"format": "haloscope-session", "version": 1%s}' % ("0" * 400),
    "twice": '{"format": "haloscope-session", "format": "haloscope-session", "version": 1}',
    "mask": '{"format": "haloscope-session", "version": 1, "picture": {}, "settings": {}}',
}  # fmt: skip


def test_that_what_is_no_session_no_file_or_too_large_is_refused_in_words(tmp_path):
    for text in DAMAGED.values():
        (tmp_path / "bad.haloscope").write_text(text)
        with pytest.raises(SessionError) as refused:
            load_session(tmp_path / "bad.haloscope")
        assert "bad.haloscope" in refused.value.what
        assert refused.value.why
        # No words of Python's.
        assert "Expecting" not in refused.value.why
        assert refused.value.remedy
    with (tmp_path / "huge.haloscope").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    os.mkfifo(tmp_path / "pipe.json")
    for name, why in (
        ("huge.haloscope", "bytes"),
        ("pipe.json", "it is a device or a pipe, not a file"),
        ("none.json", "no such file"),
        (".", "it is a folder"),
    ):
        with pytest.raises(SessionError, match=why):
            load_session(tmp_path / name)


def test_that_opening_a_session_is_one_step_that_brings_everything_and_results(bench, tmp_path):
    workspace = bench.workspace
    workspace.set_mask(MASK)
    workspace.change(border=Border.CONSTANT, cval=7.5, flip=True, block=Block(32, 8), variant="tiled")
    workspace.choose("median")
    workspace.set_parameter("size", 5)
    saved = workspace.state
    bench.files.save_session(tmp_path / "work.haloscope")
    bench.open("other.png")
    workspace.set_mask(Mask([[1]]))
    before = workspace.state
    bench.fake.automatic = True
    bench.files.open_session(tmp_path / "work.haloscope")
    bench.settle()
    assert workspace.state == saved
    assert workspace.mask.name == "Größe ±"
    assert workspace.picture.title == "photo.png"
    workspace.undo_stack.undo()
    bench.settle()
    assert workspace.state == before
    assert workspace.picture.title == "other.png"
    job = bench.workspace.job()
    for variant, ms in (("cpu-serial", 20.0), ("tiled", 2.0)):
        bench.results.add(make_result(variant, ms), comparable_of(job), job.changed(variant=variant))
    bench.files.save_session(tmp_path / "work.haloscope")
    speed_ups = [run.speed_up for run in bench.results.rows()]
    results = bench.results.results()
    bench.results.take_out(bench.results.kept)
    bench.files.open_session(tmp_path / "work.haloscope")
    bench.settle()
    assert bench.results.results() == results
    assert [run.speed_up for run in bench.results.rows()] == speed_ups
    assert [bench.results.job_of(run).variant for run in bench.results.results()] == ["cpu-serial", "tiled"]
    assert step_of(bench.results.job_of(bench.results.results()[1])).settings.variant == "tiled"


def test_that_a_session_without_its_picture_brings_the_rest_or_keeps_the_given_one(bench, tmp_path):
    bench.files.save_session(tmp_path / "work.haloscope")
    text = (tmp_path / "work.haloscope").read_text()
    (tmp_path / "work.haloscope").write_text(text.replace('"sample": "photo.png"', '"sample": "missing"'))
    mask = bench.workspace.mask
    bench.workspace.set_mask(Mask([[1]]))
    bench.fake.automatic = True
    bench.files.open_session(tmp_path / "work.haloscope")
    bench.settle()
    assert bench.workspace.mask == mask
    assert bench.messages.newest.what == "missing cannot be opened"
    bench.workspace.change(border=Border.WRAP)
    bench.files.save_session(tmp_path / "work.haloscope")
    bench.workspace.change(border=Border.ZERO)
    bench.open("other.png")
    bench.sessions.begin(Begin(FirstPicture(None, None), str(tmp_path / "work.haloscope")))
    bench.settle()
    assert bench.workspace.picture.title == "other.png"
    assert bench.workspace.settings.border is Border.WRAP


@pytest.mark.slow
def test_that_a_change_of_a_file_changes_its_digest(tmp_path):
    path = tmp_path / "photo.png"
    for size in (3, 70 << 20):
        with path.open("wb") as file:
            file.truncate(size)
        before = digest_of(path)
        assert digest_of(path) == before
        with path.open("r+b") as file:
            file.write(b"x")
        assert digest_of(path) != before


def test_that_the_view_comes_back_and_a_picture_that_has_changed_is_said(open_window, tmp_path, qtbot):
    haloscope = open_window()
    page = haloscope.window.first_page
    view = page.picture_view.canvas.view
    view.look_at(4.0, 20.0, 31.0)
    page.bring_to_front("tile")
    page.files.save_session(tmp_path / "work.haloscope")
    qtbot.waitUntil((tmp_path / "work.haloscope").exists)
    view.fit()
    page.bring_to_front("mask")
    page.files.open_session(tmp_path / "work.haloscope")
    qtbot.waitUntil(lambda: (view.transform.zoom, view.middle) == (4.0, (20, 31)))
    qtbot.waitUntil(lambda: page.panel("tile").isVisible())
    page, picture = haloscope.window.first_page, tmp_path / "photo.png"
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(picture)
    page.pictures.open_path(picture)
    source = PictureSource(str(picture))
    qtbot.waitUntil(lambda: source in page.sessions._digests)
    page.files.save_session(tmp_path / "work.haloscope")
    qtbot.waitUntil((tmp_path / "work.haloscope").exists)
    picture.write_bytes(picture.read_bytes() + b"more")
    haloscope.pictures.open_sample("camera")
    qtbot.waitUntil(lambda: haloscope.workspace.picture.title != "photo.png")
    page.files.open_session(tmp_path / "work.haloscope")
    said = "photo.png has changed since the session was saved"
    qtbot.waitUntil(lambda: any(message.what == said for message in haloscope.messages._here()))


def test_that_only_what_is_not_in_a_session_is_unsaved(haloscope, tmp_path, qtbot):
    page = haloscope.window.first_page
    assert haloscope.window.unsaved == ""
    haloscope.workspace.change(flip=True)
    haloscope.results.add(make_result("tiled", 2.0))
    assert haloscope.window.unsaved == "1 edit and 1 result"
    page.files.save_session(tmp_path / "work.haloscope")
    qtbot.waitUntil(lambda: haloscope.window.unsaved == "")
    haloscope.actions["undo"].trigger()
    assert haloscope.window.unsaved == "1 edit"
