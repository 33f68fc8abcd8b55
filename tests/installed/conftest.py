"""For tests of an installed `haloscope`. `.ci/wheel` copies them out of the tree, which they do not use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


class Answer:
    """What a command left: its exit status, standard output and standard error."""

    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="session")
def program(answer_of):
    """Return what runs the command `haloscope` as a process, with these words."""

    def run(*words, **environment):
        script = Path(sys.executable).with_name("haloscope")
        return answer_of([str(script), *map(str, words)], environment)

    return run


@pytest.fixture(scope="session")
def answer_of():
    """Return what starts a process in the current folder, and returns its answer."""

    def answer(command, environment=()):
        settings = os.environ | dict(environment)
        return Answer(subprocess.run(command, env=settings, capture_output=True, text=True, timeout=100))

    return answer


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
