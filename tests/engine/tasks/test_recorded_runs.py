"""Recorded runs: what comes with the program, and what of it stands beside a problem."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from msgspec import structs

from bench.recorded import compact, write
from engine.device_info import RECORDED
from engine.errors import EngineError
from engine.explain.device_limits import DeviceLimits, KeptLimits, Limit
from engine.explain.kept_limits import answer
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.results import columns as export
from engine.results.columns import FORMAT, RUNS, VERSION, recorded_document, recorded_path
from engine.results.metrics import compared
from engine.tasks.read_results import _recorded, recorded_runs, results_from_document
from engine.work.problem import Problem
from tests.made_runs import make_result

GREY = Problem(512, 512, 1, "float32", (3, 3), (1, 1))
LARGE = structs.replace(GREY, height=4096, width=4096)
COLOUR = structs.replace(LARGE, channels=3, dtype="uint8")
BOX, SHARPEN = Mask(np.full((3, 3), 1 / 9), name="box 3 × 3"), Mask([[0, -1, 0], [-1, 5, -1], [0, -1, 0]])
LIMITS = DeviceLimits("NVIDIA H200", Limit(4e12, 4.8e12), Limit(7e12), Limit(3e13))
MADE = tuple(
    make_result(variant, kernel_ms, problem=problem, mask_name=mask.name, weights_digest=mask.weights_digest)
    for problem in (GREY, LARGE, COLOUR)
    for variant, kernel_ms, mask in (
        ("cpu-serial", 8.0, BOX), ("box", 0.25, BOX), ("tiled", 0.5, BOX), ("tiled", 0.75, SHARPEN)
    )
)  # fmt: skip


def forget():
    for kept in (recorded_document, _recorded):
        kept.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of recordings: an empty one."""
    monkeypatch.setattr(export, "FOLDER", tmp_path)
    forget()
    yield tmp_path
    forget()


@pytest.fixture
def recording(folder):
    """Recorded runs of three pictures as the recorder writes them."""
    document = {"format": FORMAT, "version": VERSION, "limits": asdict(LIMITS)}
    write(recorded_path(RUNS), document | {"results": [compact(run) for run in MADE]})


@pytest.mark.slow
def test_that_every_recorded_run_of_the_program_is_proven_and_has_a_time():
    document = recorded_document(RUNS)
    runs = results_from_document(document) if document else ()
    assert all(run.is_proven and run.kernel_ms for run in runs)


def test_that_the_recordings_of_the_program_take_less_than_a_megabyte():
    assert sum(path.stat().st_size for path in export.FOLDER.iterdir()) < 1_000_000


@pytest.mark.usefixtures("recording")
def test_that_a_recorded_run_is_read_as_it_was_made():
    read = results_from_document(recorded_document(RUNS))
    assert [replace(run, timing=None) for run in read] == [replace(run, timing=None) for run in MADE]


@pytest.mark.usefixtures("recording")
def test_that_runs_of_the_very_mask_and_of_the_nearest_picture_come_before_others():
    exact = recorded_runs(GREY, BOX)
    assert ({run.device for run in exact.runs}, exact.note) == ({RECORDED}, "")
    found = recorded_runs(GREY, SHARPEN).runs
    assert [run.kernel_ms for run in found if run.variant == "tiled"] == [0.75]
    # A variant that cannot compute the mask is left out.
    assert {run.variant for run in found} == {"cpu-serial", "tiled"}
    # Of the same type before the same size.
    found = recorded_runs(structs.replace(COLOUR, height=500, width=500), BOX)
    assert {run.problem for run in found.runs} == {COLOUR}
    # A run keeps its own time and size.
    found = recorded_runs(structs.replace(GREY, height=700, width=700), BOX)
    assert {(run.problem, run.kernel_ms) for run in found.runs} == {(GREY, 8.0), (GREY, 0.25), (GREY, 0.5)}


@pytest.mark.usefixtures("recording")
def test_that_a_note_says_what_is_not_as_in_the_problem_or_why_there_is_no_run():
    other = structs.replace(GREY, height=700, width=700, border=Border.MIRROR)
    note = recorded_runs(other, Mask(np.ones((3, 3)))).note
    assert note == "Recorded of another problem: 512 × 512 grey float32, mask box 3 × 3, border zero"
    found = recorded_runs(structs.replace(GREY, mask_shape=(7, 5)), Mask(np.ones((7, 5))))
    assert (found.runs, "7 × 5; recorded are 3 × 3" in found.note) == ((), True)


@pytest.mark.usefixtures("folder")
def test_that_a_recording_that_is_missing_or_damaged_is_told():
    assert recorded_runs(GREY, BOX).note == "This version came without recorded runs."
    forget()
    recorded_path(RUNS).write_bytes(b"no gzip")
    with pytest.raises(EngineError, match="Install the program again"):
        recorded_runs(GREY, BOX)


@pytest.mark.usefixtures("recording")
def test_that_a_recorded_run_has_a_speed_up_against_recorded_ones_only():
    here = make_result("cpu-serial", 100.0, problem=GREY, weights_digest=BOX.weights_digest)
    of_h200 = recorded_runs(GREY, BOX).runs
    numbers = {run.result.variant: run.speed_up for run in compared([here, *of_h200], "cpu-serial")[1:]}
    assert numbers == {"cpu-serial": 1.0, "tiled": 16.0, "box": 32.0}

    # And is no baseline for runs of this machine.
    here = make_result("tiled", 0.1, problem=GREY, weights_digest=BOX.weights_digest)
    assert compared([here, *of_h200], "cpu-serial")[0].speed_up is None


@pytest.mark.usefixtures("recording")
def test_that_the_limits_of_the_recorded_gpu_are_those_of_the_device_recorded():
    assert answer(KeptLimits(RECORDED), lambda step: None) == LIMITS
