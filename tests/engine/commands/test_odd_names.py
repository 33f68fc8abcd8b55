"""Names and streams that are odd: a dash before a name, loops of links, control characters, closed outputs."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from engine.image.samples import sample_path

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(sample_path("impulse"), "-a.png")
    return tmp_path


def test_that_names_after_two_dashes_may_begin_with_one(command, folder):
    answer = command("filter", "--mask", "box-3", "--", "-a.png", "-o.png")
    assert answer.status == 0, answer.err
    assert (folder / "-o.png").exists()
    assert command("filter", "-a.png", "o.png", "--mask", "box-3").status == 2


def test_that_a_loop_of_links_is_refused_and_stays(command, folder):
    os.symlink("second.png", "first.png")
    os.symlink("first.png", "second.png")
    answer = command("filter", "./-a.png", "first.png", "--mask", "box-3")
    assert answer.status == 2
    assert answer.err.startswith("first.png cannot be written: it is a loop of symbolic links.")
    assert os.readlink("first.png") == "second.png"


def test_that_a_link_to_a_file_stays_a_link(command, folder):
    os.symlink("real.png", "link.png")
    assert command("filter", "./-a.png", "link.png", "--mask", "box-3").status == 0
    assert os.readlink("link.png") == "real.png"
    assert (folder / "real.png").is_file()


def test_that_an_answer_names_a_file_without_driving_the_terminal(command, folder):
    name = "x\x1b[31m\n\x07.png"
    answer = command("filter", "./-a.png", name, "--mask", "box-3")
    assert answer.status == 0
    assert answer.out.startswith(r"x\u001b[31m\u000a\u0007.png: correlation")
    refusal = command("filter", "no\x1b[31m.png", "o.png", "--mask", "box-3")
    assert refusal.err.startswith(r"no\u001b[31m.png cannot be opened")


def test_that_a_folder_for_temporary_files_is_not_needed(command, folder, monkeypatch):
    """A full one was told as a full disk of the result's."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "nowhere"))
    assert command("filter", "./-a.png", "o.png", "--mask", "box-3").status == 0
