"""The command line as a test calls it: in this process, and as a program of its own."""

import errno
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import engine.files.atomic_write
from engine.commands import main

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Answer:
    """What a command left: its exit status and what it printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(capsys):
    """Return a function that does a command in this process."""

    def do(*arguments):
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    return do


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """Return a function that does a command as `python main.py` in a folder that is not ours."""
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("compiled"))}

    def do(*arguments, stdout=subprocess.PIPE):
        line = [sys.executable, str(ROOT / "main.py"), *map(str, arguments)]
        done = subprocess.run(
            line, cwd=folder, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=100
        )
        return Answer(done.returncode, done.stdout or "", done.stderr)

    return do


@pytest.fixture
def refused(command, tmp_path):
    """Return a function that checks a refusal: its status, one line that says all of it, and no file left behind."""

    def check(*arguments, status, says):
        before = sorted(tmp_path.rglob("*"))
        answer = command(*arguments)
        assert answer.status == status, answer
        assert answer.out == ""
        assert answer.err.count("\n") == 1, answer.err
        assert "Traceback" not in answer.err
        for words in says:
            assert words in answer.err
        assert sorted(tmp_path.rglob("*")) == before
        return answer.err

    return check


@pytest.fixture
def full_disk(monkeypatch, tmp_path):
    """Return a folder on a disk that gets full once the work is done: no file can be written, yet it can be looked at."""
    folder = tmp_path / "full"
    folder.mkdir()
    write = engine.files.atomic_write._write_beside_and_replace

    def refuse(target, data):
        if target.parent == folder:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(target, data)

    monkeypatch.setattr(engine.files.atomic_write, "_write_beside_and_replace", refuse)
    return folder
