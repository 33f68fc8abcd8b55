"""The command line as a test calls it: in this process, and as a program of its own."""

import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import engine
import engine.commands.command_line
import engine.files.atomic_write
from engine import interrupts
from engine.commands import command_line
from engine.device import device_list
from engine.device import devices as device_module
from engine.device.interpreter import InterpreterBackend
from engine.device_info import DeviceInfo
from engine.errors import DeviceFault, Reason
from engine.flow import rows as memory_plan
from engine.image.open import sample_path
from engine.run.task import Job
from engine.work.filter_task import FILTERING
from tests.fresh_python import ROOT

LOST = DeviceFault("cuda:0", "illegal address", "Start again.")


def strict_json(text):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@dataclass(frozen=True)
class Answer:
    """What a command left: its exit status and what it printed."""

    status: int
    out: str
    err: str

    @property
    def document(self):
        return strict_json(self.out)


def raising(error):
    """Return a function that raises an error for any arguments."""

    def call(*arguments, **named):
        raise error

    return call


def words(arguments):
    """Return the words of a command: a string is split as a shell does, a path is one word."""
    return [
        word for part in arguments for word in (shlex.split(part) if isinstance(part, str) else [str(part)])
    ]


class OnePixelOff:
    """A kernel that is wrong in one pixel, in place of the one that is chosen."""

    def __init__(self, prepared):
        self._prepared = prepared

    def launch(self, image, out, stream=None):
        self._prepared.launch(image, out, stream)
        out[0, 0, 0] += 1


class Left(BaseException):
    """The process would have been ended, with this line."""


@pytest.fixture
def ctrl_c(monkeypatch):
    """Return a function that does what the listening thread does after Ctrl+C; leaving raises `Left`."""

    def leave():
        raise Left(interrupts.last_line())

    monkeypatch.setattr(interrupts, "leave", leave)
    monkeypatch.setattr(interrupts, "_last", None)
    return lambda *_, **__: interrupts._heard(signal.SIGINT)


def make_every_variant_wrong(monkeypatch):
    """Let the CPU variants of this process add 1 to their first result."""
    prepare = Job.prepare

    def prepared(job):
        return OnePixelOff(prepare(job)) if job.task is FILTERING else prepare(job)

    monkeypatch.setattr(Job, "prepare", prepared)


@pytest.fixture
def command(capsys):
    """Return a function that does a command in this process."""

    def do(*arguments):
        capsys.readouterr()
        status = engine.commands.command_line.main(words(arguments))
        printed = capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    return do


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """Return a function that does a command as `python main.py` in a folder, by default one not ours."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    def do(*arguments, stdout=subprocess.PIPE, before=None, folder=elsewhere, **environment):
        done = subprocess.run(
            [sys.executable, str(ROOT / "main.py"), *words(arguments)],
            cwd=folder,
            env=os.environ | environment,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
            preexec_fn=before,
        )
        return Answer(done.returncode, done.stdout or "", done.stderr)

    return do


@pytest.fixture
def refused(command, tmp_path):
    """Return a function that checks a refusal: its status, one line with parts in order, files as before."""

    def files():
        return {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}

    def check(*arguments, says="", status=2):
        before = files()
        answer = command(*arguments)
        assert (answer.status, answer.out) == (status, ""), answer
        assert answer.err.count("\n") == 1, answer.err
        assert "Traceback" not in answer.err
        assert re.search(".*".join(map(re.escape, says.split(" ... "))), answer.err), answer.err
        assert files() == before

    return check


@pytest.fixture
def no_gpu(monkeypatch):
    """Make this a machine without a CUDA device."""
    known = {device.key: device for device in device_module.devices()}
    missing = DeviceInfo("cuda:0", "cuda", "CUDA device", False, Reason("no-driver", "There is no driver"))
    found = known["cpu"], missing, known["simulator"]
    monkeypatch.setattr(device_module, "devices", lambda: found)
    monkeypatch.setattr(device_list, "listed_devices", lambda: found)


@pytest.fixture
def left(monkeypatch):
    """Return the exit statuses with which the process would have been left at once."""
    statuses = []
    monkeypatch.setattr(command_line, "leave_at_once", statuses.append)
    return statuses


@pytest.fixture
def lost_device(monkeypatch, left):
    """Let the simulator be lost at its first job; return the exit statuses, as `left`."""
    monkeypatch.setattr(InterpreterBackend, "run", raising(LOST))
    return left


@pytest.fixture
def full_disk(monkeypatch, tmp_path):
    """Return a folder that can be looked at, on a disk that is full by the time that a file is written."""
    folder = tmp_path / "full"
    folder.mkdir()
    made = engine.files.atomic_write.part_file

    def refuse(parent):
        if parent == folder:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return made(parent)

    monkeypatch.setattr(engine.files.atomic_write, "part_file", refuse)
    return folder


@pytest.fixture
def photos(tmp_path):
    """Return a folder: three pictures, one of them in a folder of its own, a broken one, and a letter."""
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    random = np.random.default_rng(1)
    engine.save_image(random.integers(0, 256, (9, 7), np.uint8), folder / "grey.png")
    engine.save_image(random.integers(0, 256, (5, 12, 3), np.uint8), folder / "rgb.tif")
    engine.save_image(random.integers(0, 65536, (6, 6), np.uint16), folder / "more" / "deep.png")
    (folder / "broken.png").write_bytes(sample_path("camera").read_bytes()[:500])
    (folder / "letter.txt").write_text("Dear sir or madam")
    (folder / ".hidden.png").write_bytes(b"")
    return folder


@pytest.fixture
def out(tmp_path):
    """Return the folder for the results, which does not exist."""
    return tmp_path / "out"


@pytest.fixture
def small_bands(monkeypatch):
    """Cut small pictures into many steps and bands, as large ones are."""
    monkeypatch.setattr(memory_plan, "_BAND_BYTES", 2048)
