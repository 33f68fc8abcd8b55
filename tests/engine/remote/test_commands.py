"""Commands on a server: the same answers, statuses and files as here, with the names of here."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.samples import sample_path
from engine.image.save import save_image
from tests.engine.remote.conftest import children_of
from tests.engine.remote.sshd import PATIENCE_S, PYTHON, ROOT, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def program(sshd, tmp_path):
    """Return a function that starts a command here or there, in a folder with a picture."""
    (tmp_path / "camera.png").write_bytes(Path(sample_path("camera")).read_bytes())
    tools = tmp_path / "tools"
    tools.mkdir()
    # In place of ~/.ssh/config.
    (tools / "ssh").write_text(
        f'#!/bin/sh\nPATH={os.environ["PATH"]}\nexec ssh {" ".join(sshd.options())} "$@"\n'
    )
    (tools / "ssh").chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}

    def start(*arguments, there=True, python=PYTHON):
        host = ["--host", sshd.to, "--host-python", python] if there else []
        command = [sys.executable, str(ROOT / "main.py"), *arguments, *host]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
        )

    return start


def ended(process):
    """Return the exit status, and what was printed."""
    out, errors = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, errors


@pytest.fixture
def answers(program):
    return lambda *arguments, **how: ended(program(*arguments, **how))


def test_that_filter_writes_the_same_picture_and_names_the_files_of_here(answers, tmp_path):
    (tmp_path / "sub folder").mkdir()
    asked = "filter", "camera.png", "--mask", "gaussian:5", "--json"
    here = answers(*asked, "here.png", there=False)
    there = answers(*asked, str(tmp_path / "sub folder" / "there.png"))
    assert (here[0], there[0]) == (0, 0), there
    said = json.loads(there[1])
    assert (said["input"], said["output"]) == ("camera.png", str(tmp_path / "sub folder" / "there.png"))
    assert " on " in said["result"]["environment"]["device"]
    assert np.array_equal(
        *(open_image(tmp_path / name).pixels for name in ("here.png", "sub folder/there.png"))
    )
    assert not list(tmp_path.glob("*.part"))


ODD = os.fsdecode(b"odd:\n\t\\\x1b[2J\xe2\x80\xae\xff.png")


def test_that_a_name_that_cannot_cross_is_that_of_here_all_the_same(answers, tmp_path):
    (tmp_path / ODD).write_bytes((tmp_path / "camera.png").read_bytes())
    status, out, errors = answers("filter", ODD, f".out{ODD}", "--mask", "box-3", "--json")
    assert status == 0, errors
    assert json.loads(out)["input"] == ODD
    assert answers("filter", "camera.png", "here.png", "--mask", "box-3", there=False)[0] == 0
    assert (tmp_path / f".out{ODD}").read_bytes() == (tmp_path / "here.png").read_bytes()
    # Into the folder where one is.
    status, _, errors = answers("course", "lab", "--out", ".", "--sizes", "64", "--budget", "0.01")
    assert status == 0, errors
    assert (tmp_path / "lab.md").exists()


def test_that_a_mask_from_a_file_and_a_patch_go_along(answers, tmp_path):
    (tmp_path / "mask.txt").write_text("1 0 -1\n2 0 -2\n1 0 -1\n")
    status, _, errors = answers("filter", "camera.png", "x.png", "--mask", "mask.txt", "--range", "absolute")
    assert status == 0, errors
    save_image(Picture(open_image(tmp_path / "camera.png").pixels[100:120, 200:230]), tmp_path / "patch.png")
    status, _, errors = answers(
        "filter", "camera.png", "found.png", "--operation", "find-patch", "--patch", "patch.png"
    )
    assert status == 0, errors
    assert (tmp_path / "found.png").exists()


def test_that_bench_writes_its_results_here(answers, tmp_path):
    asked = "bench", "--sizes", "64", "--masks", "3", "--variants", "cpu-parallel", "--budget", "0.01"
    status, out, errors = answers(*asked, "--out", "r.json", "--csv", "r.csv")
    assert status == 0, errors
    assert json.loads((tmp_path / "r.json").read_text())["results"]
    assert "[1/1]" in errors
    assert "cpu-parallel" in out
    assert (tmp_path / "r.csv").exists()


def test_that_explain_and_course_answer_as_here(answers, tmp_path):
    asked = "explain", "1920x1080", "--mask", "gaussian:5", "--variant", "tiled", "--arch", "sm_86"
    assert answers(*asked)[:2] == answers(*asked, there=False)[:2]
    status, _, errors = answers("course", "lab", "--out", "papers", "--sizes", "64", "--budget", "0.01")
    assert status == 0, errors
    assert "written: papers/lab.md" in errors
    assert "Figure 1" in (tmp_path / "papers" / "lab.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (
            ("filter", "nothing.png", "x.png", "--mask", "box-3"),
            2,
            "nothing.png cannot be opened: there is no such file",
        ),
        (("filter", "camera.png", "./camera.png", "--mask", "box-3"), 2, "its result would replace it"),
        (("filter", "camera.png", "none/x.png", "--mask", "box-3"), 2, "its folder does not exist"),
        (("filter", "camera.png", "x.png", "--mask", "box-3", "--device", "cuda:7"), 3, "cuda:7"),
        (("filter", "camera.png", "x.png"), 2, "nothing to do"),
        (("devices", "--host=-oProxyCommand=true"), 2, "it is not the name of a server"),
    ],
    ids=["no-file", "same-file", "no-folder", "no-device", "bad-use", "no-name"],
)
def test_that_what_is_wrong_is_said_with_the_status_of_here(answers, tmp_path, arguments, status, says):
    there = answers(*arguments, there="--host" not in arguments[-1])
    assert (there[0], says in there[2]) == (status, True), there
    assert len(there[2].splitlines()) == 1
    assert not (tmp_path / "x.png").exists()


def test_that_a_server_that_cannot_be_used_has_a_status_of_its_own(answers):
    status, _, errors = answers("devices", python="no-such-python")
    assert (status, "there is no such Python" in errors) == (3, True)


def test_that_stopping_a_command_stops_it_there(program, sshd, tmp_path):
    asked = (
        "bench",
        "--sizes",
        "4096",
        "--masks",
        "31",
        "--variants",
        "cpu-serial",
        "--budget",
        "600",
        "--out",
        "r.json",
    )
    process = program(*asked)
    wait_until(lambda: any("run_command" in args for args in children_of(sshd.process.pid).values()))
    process.send_signal(signal.SIGINT)
    status, _, errors = ended(process)
    assert (status, "r.json was not written" in errors) == (130, True), errors
    wait_until(lambda: not any("run_command" in args for args in children_of(sshd.process.pid).values()))
    assert not (tmp_path / "r.json").exists()


def test_that_the_kill_of_the_program_here_ends_the_command_there(program, sshd):
    asked = (
        "bench",
        "--sizes",
        "4096",
        "--masks",
        "31",
        "--variants",
        "cpu-serial",
        "--budget",
        "600",
        "--out",
        "r.json",
    )
    process = program(*asked)
    wait_until(lambda: any("run_command" in args for args in children_of(sshd.process.pid).values()))
    process.kill()
    ended(process)
    wait_until(lambda: not any("run_command" in args for args in children_of(sshd.process.pid).values()))
