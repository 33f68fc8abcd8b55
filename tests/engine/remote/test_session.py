"""The engine on a server, over ssh to this machine: the same answers, sent once, seen first."""

import shlex
import threading

import numpy as np
import pytest

import engine
from engine.errors import Cancelled, EngineError, LineLost
from engine.host import shared
from engine.host.protocol import SaveResult, WantedTiles, WantedValues
from engine.host.request import Check, Preview, Run, Seen, SharedArray, segments_of
from engine.image.open import open_image
from engine.mask.presets import preset
from engine.message import messages_in
from engine.remote.ssh import RemoteServer
from engine.tasks.network.problem import DrawingRequest
from engine.work.messages import ListRequest
from tests.engine.remote.sshd import PATIENCE_S, PYTHON
from tests.picture_jobs import mask_job, operation_job

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def both(sshd):
    from tests.engine.remote.conftest import Asking

    remote = Asking(RemoteServer(sshd.to, PYTHON, sshd.options()))
    local = Asking()
    yield local, remote
    local.close()
    remote.close()


@pytest.fixture(scope="module")
def pictures(both):
    return [one.picture() for one in both]


def arrays_of(answer):
    """Return copies of all arrays of an answer, and the answer without them."""
    parts = (part for part in messages_in(answer) if isinstance(part, SharedArray))
    return [shared.attach(part).copy() for part in parts]


def test_that_results_have_the_same_bits_and_questions_the_same_answers(both, pictures):
    asked = [
        [
            *(Preview(mask_job(mask=preset(mask), picture=picture)) for mask in ("sobel-x", "box-3")),
            Preview(operation_job(operation="negative", settings={}, picture=picture)),
            Preview(DrawingRequest(bytes(range(256)) * 3 + bytes(16))),
        ]
        for picture in pictures
    ]
    for requests in zip(*asked, strict=True):
        here, there = (one.ask(request) for one, request in zip(both, requests, strict=True))
        assert getattr(here, "variant", "") == getattr(there, "variant", "")
        for a, b in zip(arrays_of(here), arrays_of(there), strict=True):
            assert a.tobytes() == b.tobytes()
    found = []
    for one, picture in zip(both, pictures, strict=True):
        job = mask_job(mask=preset("sobel-x"), picture=picture)
        with pytest.raises(EngineError) as caught:
            one.ask(Preview(job.changed(variant="no-such")))
        error = type(caught.value), str(caught.value)
        found.append((one.ask(ListRequest()), one.ask(Check(job)), error))
    assert found[0] == found[1]


def test_that_a_run_says_where_it_was_computed(both, pictures, sshd):
    steps = []
    run = both[1].ask(Run(mask_job(mask=preset("sobel-x"), picture=pictures[1]), 0.05), steps.append)
    assert run.result.is_proven
    assert run.result.environment.device.endswith(f" on {sshd.to}")
    named = {device.key: device.title.endswith(f" on {sshd.to}") for device in both[1].said.devices}
    assert all(named.values())
    assert {step.stage for step in steps} & {"verifying", "warming up"} or len(steps) > 2


SEEN = Seen(0, (100, 300), (260, 500))


def test_that_only_what_is_seen_comes_and_the_rest_when_it_is_asked_for(both, pictures, tmp_path):
    local, remote = both
    here, job = (mask_job(mask=preset("sobel-x"), picture=picture) for picture in pictures)
    whole, found = local.ask(Preview(here)), remote.ask(Preview(job, SEEN))
    assert found.values is None
    assert {tiles.level for tiles in found.tiles} <= {0, 1}
    asked = remote.ask(WantedTiles(found.screen, 0, ((0, 0), (1, 1)), job=job))
    for tiles in (*found.tiles, asked):
        pixels = shared.attach(whole.screen.levels[tiles.level])
        for tile in tiles.tiles:
            part = pixels[found.screen.extent(tiles.level, tile.place)]
            assert np.array_equal(shared.attach(tile.pixels), part)
    values = remote.ask(WantedValues(found.screen, (7, 8), (9, 10), job=job))
    assert np.array_equal(shared.attach(values.values), shared.attach(whole.values)[7:8, 9:10])

    # It stays there, and is saved here.
    paths = [str(tmp_path / f"{name}.tif") for name in ("here", "there")]
    local.ask(SaveResult(pictures[0], whole.values, paths[0], depth="float32"))
    saved = remote.ask(SaveResult(pictures[1], None, paths[1], depth="float32", result=found.screen))
    assert saved.path == paths[1]
    assert np.array_equal(*(open_image(path).pixels for path in paths))
    for _ in range(4):
        remote.client.release(*segments_of(remote.ask(Preview(job, SEEN))))
    with pytest.raises(EngineError, match="not there any more"):
        remote.ask(WantedTiles(found.screen, 0, ((0, 0),), job=job))


def test_that_a_request_is_stopped_there(both, pictures):
    remote, begun = both[1], threading.Event()
    job = mask_job(mask=preset("sobel-x"), picture=pictures[1], variant="cpu-serial")
    running = remote.client.submit(Run(job, 60.0), lambda step: begun.set())
    assert begun.wait(PATIENCE_S)
    remote.client.cancel(running)
    with pytest.raises(Cancelled):
        running.result(PATIENCE_S)
    # The same process goes on.
    assert not remote.lost.is_set()
    remote.ask(Check(job))


def test_that_a_papers_files_are_written_here(both, tmp_path):
    from engine.course.papers import CourseRequest, SaveCourse

    remote, folder = both[1], tmp_path / "lab"
    tables = remote.ask(CourseRequest("lab"))
    saved = remote.ask(SaveCourse("lab", tables, str(folder)))
    assert saved.path == str(folder)
    assert (folder / "lab.md").read_text()


@pytest.mark.parametrize(
    ("python", "how", "port", "says"),
    [
        ("no-such-python", {}, (), "there is no such Python"),
        ("python3 -S -I", {}, (), "has no Haloscope"),
        (PYTHON, {"key": "other"}, (), "refused the key"),
        (PYTHON, {"known": "none"}, (), "its host key is not the known one"),
        (PYTHON, {}, ("-p", "1"), "nothing listens for ssh there"),
    ],
    ids=["no-python", "no-haloscope", "wrong-key", "unknown-host", "no-sshd"],
)
def test_that_a_server_that_cannot_be_used_is_refused_with_what_helps(sshd, asking, python, how, port, says):
    remote = asking(RemoteServer(sshd.to, python, (*port, *sshd.options(**how))))
    with pytest.raises(LineLost, match=says) as caught:
        remote.ask(ListRequest())
    assert caught.value.remedy


def test_that_another_version_is_refused_with_the_command_that_installs_the_right_one(sshd, asking, tmp_path):
    folder = tmp_path / "old" / "engine" / "remote"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").write_text("")
    says = 'print(\'HALOSCOPE {"version": "0.0.1", "schema": "x", "python": "3.11"}\', flush=True)'
    (folder / "server.py").write_text(f"def main():\n    {says}\n    input()\n")
    python = f"cd {folder.parents[1]} && {PYTHON.rpartition(' ')[2]}"
    remote = asking(RemoteServer(sshd.to, python, sshd.options()))
    with pytest.raises(LineLost, match=r"it has Haloscope 0\.0\.1") as caught:
        remote.ask(ListRequest())
    # A shell here reads three words; the one there gets the last of them whole.
    typed = shlex.split(caught.value.remedy[caught.value.remedy.index("ssh ") :])
    assert typed == ["ssh", sshd.to, f"{python} -m pip install haloscope=={engine.__version__}"]
