"""Odd names and folders: a dash before a name, links, control characters, no folder for temporary files."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from engine.image.samples import sample_path

BOX = "--mask box-3"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(sample_path("impulse"), "-a.png")
    return tmp_path


def test_that_names_after_two_dashes_may_begin_with_one(command):
    answer = command("filter", BOX, "-- -a.png -o.png")
    assert answer.status == 0, answer.err
    assert Path("-o.png").exists()
    assert command("filter -a.png o.png", BOX).status == 2


def test_that_a_link_to_a_file_stays_a_link_and_a_loop_of_links_is_refused(command):
    os.symlink("real.png", "link.png")
    assert command("filter ./-a.png link.png", BOX).status == 0
    assert os.readlink("link.png") == "real.png"
    assert Path("real.png").is_file()
    os.symlink("second.png", "first.png")
    os.symlink("first.png", "second.png")
    answer = command("filter ./-a.png first.png", BOX)
    assert answer.status == 2
    assert answer.err.startswith("first.png cannot be written: it is a loop of symbolic links.")
    assert os.readlink("first.png") == "second.png"


def test_that_an_answer_names_a_file_without_driving_the_terminal(command):
    answer = command("filter ./-a.png", Path("x\x1b[31m\n\x07.png"), BOX)
    assert answer.status == 0
    assert answer.out.startswith(r"x\u001b[31m\u000a\u0007.png: correlation")
    refusal = command("filter", Path("no\x1b[31m.png"), "o.png", BOX)
    assert refusal.err.startswith(r"no\u001b[31m.png cannot be opened")


def test_that_a_folder_for_temporary_files_is_not_needed(command, folder, monkeypatch):
    """A full one was reported as a full disk of the result's."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "nowhere"))
    assert command("filter ./-a.png o.png", BOX).status == 0
