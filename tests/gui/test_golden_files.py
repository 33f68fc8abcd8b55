"""Files that earlier versions wrote (`golden/`) are read as they were meant, with nothing left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.mask.text import load_mask
from gui.explore.session_file import encoded, load_session
from gui.explore.sessions import View
from gui.explore.state import PictureSource, StepSettings
from gui.network.network_state import NetworkState
from gui.shell.preferences import Preferences, load_preferences
from gui.typed_json import Reading

GOLDEN = Path(__file__).parent / "golden"
SESSIONS = sorted(path.name for path in GOLDEN.glob("session-*"))
MASK = Mask(np.array([[0.1, -2.5], [1 / 3, 4e-9], [0, 7]]), anchor=(2, 0), offset=-3.25, name="Größe ±")
OF_0_1 = StepSettings(
    border=Border.CONSTANT, cval=12.5, flip=True, normalise=True, variant="tiled", device="cuda:0",
    block=Block(32, 4), range_mode="absolute", baseline="naive", layout=Layout.PACKED, result_type="same",
)  # fmt: skip


def test_that_a_session_of_an_earlier_version_has_its_mask_and_settings():
    for name in SESSIONS:
        session = load_session(GOLDEN / name)
        step = session.state.steps[0]
        # Which kernels Run all runs is not chosen any more.
        assert ["kernels" in one for one in session.left_out] == ([] if "0.1" in name else [True])
        assert (step.mask, step.mask.name, step.title) == (MASK, "Größe ±", "Größe ±")
        settings = step.settings_of("")
        for field in ("border", "cval", "flip", "normalise", "variant", "device", "block", "range_mode",
                      "baseline", "layout", "result_type"):  # fmt: skip
            assert getattr(settings, field) == getattr(OF_0_1, field), field
        assert settings.blocks == (() if "0.1" in name else (Block(8, 8), Block(32, 4)))
    # One of 0.1 names its picture beside it.
    place = str((GOLDEN / "photos/photo.png").resolve())
    assert load_session(GOLDEN / "session-0.1.haloscope").state.source == PictureSource(place)


def test_that_a_session_of_0_2_has_its_operation_and_the_drawing(qapp):
    session = load_session(GOLDEN / "session-0.2.haloscope")
    step = session.state.step
    assert session.state.source == PictureSource("", "astronaut")
    assert (step.operation, step.settings.parameters) == ("median", {"size": 5})
    assert (step.settings.variant, step.settings.block) == ("median-tiled", Block(16, 8))
    network, reading = NetworkState(), Reading()
    network.take_own_part(session.pages["network"], reading)()
    assert reading.notes == ()
    settings, ink = network.settings, [[row, column] for row in range(5, 9) for column in range(7, 20)]
    assert (settings.stage, settings.batch, settings.device) == ("conv2", 64, "cpu")
    assert np.argwhere(network.drawing.ink == 200).tolist() == ink


@pytest.mark.parametrize("name", [name for name in SESSIONS if "november" in name])
def test_that_a_session_of_november_has_results_view_and_steps(name):
    session = load_session(GOLDEN / name)
    first, second, third = session.runs
    assert [run.result.variant for run in session.runs] == ["tiled", "naive", "tiled"]
    assert (first.note, first.is_pinned) == ("before the fix", True)
    assert first.source == second.source == session.state.source == PictureSource("/pictures/photo.png")
    assert (second.step.settings.variant, second.step.settings.block) == ("naive", None)
    assert third.step is None
    assert session.digest == "ab" * 16
    assert session.view == View(mode="split", zoom=2.0, row=3, column=4, panels=("mask",), run=1)
    assert (session.state.selected, session.state.steps[1].operation) == (1, "median")
    if len(session.state.steps) > 2:
        median, combined = session.state.steps[1:]
        assert (median.id, median.input, median.on) == ("s2", "picture", False)
        assert (combined.operation, combined.second) == ("combine", "s1")
        assert combined.settings.parameters == {"how": "blend", "weight": 0.25}
        assert session.state.title == "Two of one"


def test_that_what_is_saved_of_it_now_is_the_same_session(tmp_path):
    for name in SESSIONS:
        session = load_session(GOLDEN / name)
        (tmp_path / "again.haloscope").write_bytes(encoded(session))
        assert load_session(tmp_path / "again.haloscope") == replace(session, left_out=())


def test_that_masks_and_preferences_of_earlier_versions_are_read():
    columns = {"explore": {"p20": True, "rows": False}}
    later = {"window": (10, 20, 1000, 700), "is_maximized": True, "columns": columns}
    for version, more in (("0.1", {}), ("0.2", later)):
        mask = load_mask(GOLDEN / f"mask-{version}.json")
        assert (mask, mask.name) == (MASK, "Größe ±")
        found = load_preferences(GOLDEN / f"preferences-{version}.json")
        assert found == (Preferences(theme="dark", last_folder="/home/me/pictures", **more), "")
