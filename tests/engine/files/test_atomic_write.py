"""Files are written whole or not at all; what a killed save leaves, and what of the program is damaged."""

import errno
import itertools
import os
import signal
import stat
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.course import papers
from engine.errors import BadValue, EngineError, FileWriteError
from engine.files import atomic_write as module
from engine.files.atomic_write import atomic_write, check_place, make_folder, part_file, remove_dead_parts
from engine.mask import preset_texts, presets


def failing(number, kind=OSError):
    def fail(*arguments, **keywords):
        raise kind(number, os.strerror(number or 0))

    return fail


def test_that_new_bytes_replace_the_old_ones(tmp_path):
    path = tmp_path / "results.json"
    atomic_write(path, b"old")
    atomic_write(path, b"new and longer")
    assert path.read_bytes() == b"new and longer"
    assert os.listdir(tmp_path) == ["results.json"]
    with pytest.raises(BadValue, match="'' is not a path"):
        check_place("")


def test_that_an_address_is_refused_with_what_to_do():
    for use in (engine.open_image, partial(engine.save_image, np.eye(3)), check_place, make_folder):
        for address in ["s3://bucket/a.png", "https://example.org/a.png", "file:///a.png"]:
            with pytest.raises(BadValue, match=r"Download a picture first") as refused:
                use(address)
            assert address in refused.value.what


def test_that_a_failure_at_any_step_leaves_just_the_old_file_and_says_why(tmp_path, monkeypatch):
    path = tmp_path / "session.json"
    path.write_bytes(b"old")
    reasons = {"ENOSPC": "full", "EROFS": "be read", "EACCES": "not write", "EIO": "error"}
    for (name, words), step in itertools.product(reasons.items(), ("fsync", "replace", "chmod")):
        with monkeypatch.context() as broken:
            broken.setattr(os, step, failing(getattr(errno, name)))
            with pytest.raises(FileWriteError) as caught:
                atomic_write(path, b"new")
        assert words in caught.value.why
        assert caught.value.remedy
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["session.json"]
    monkeypatch.setattr(os, "replace", failing(None, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        atomic_write(path, b"new")
    assert os.listdir(tmp_path) == ["session.json"]


def test_that_a_path_that_cannot_be_written_is_refused_in_words(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for name, words in {
        "missing/a.csv": "does not exist", "file/a.csv": "not a folder", "folder": "it is a folder",
        "folder/": "it is a folder", "n" * 300: "too long", "a\0b": "not a possible path",
    }.items():  # fmt: skip
        for write in (check_place, lambda path: atomic_write(path, b"1")):
            with pytest.raises(FileWriteError) as caught:
                write(f"{tmp_path}/{name}")
            assert words in caught.value.why
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


posix = pytest.mark.skipif(os.name != "posix", reason="permissions, pipes and locks are POSIX's")


@posix
class TestPosix:
    def test_that_a_replaced_file_keeps_its_permissions(self, tmp_path):
        (tmp_path / "plain").write_bytes(b"")
        path = tmp_path / "ours"
        atomic_write(path, b"")
        assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
        path.chmod(0o640)
        atomic_write(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_that_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "target").write_bytes(b"old")
        (tmp_path / "link").symlink_to("target")
        atomic_write(tmp_path / "link", b"new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "target").read_bytes() == b"new"

    def test_that_loops_of_links_pipes_and_protected_files_are_refused_and_stay(self, tmp_path, monkeypatch):
        (tmp_path / "loop").symlink_to("pool")
        (tmp_path / "pool").symlink_to("loop")
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "protected").write_bytes(b"old")
        # Root may write everything, so the answer is given here.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        refusals = {"loop": "loop of symbolic links", "pipe": "device", "protected": "protected"}
        for name, words in refusals.items():
            with pytest.raises(FileWriteError, match=words):
                atomic_write(tmp_path / name, b"new")
            with pytest.raises(FileWriteError, match=words):
                check_place(str(tmp_path / name))
        assert (tmp_path / "loop").readlink().name == "pool"
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
        assert (tmp_path / "protected").read_bytes() == b"old"
        receiver, sender = os.pipe()
        with pytest.raises(FileWriteError, match="it is a device, not a file"):
            check_place(f"/dev/fd/{sender}")
        os.close(receiver)
        os.close(sender)


BAD_PRESETS = '{"presets": [{}]}', '{"presets": 3}', '{"presets": [{"key": "a", "weights": [["x"]]}]}'
BAD_PAPERS = "papers = 3", "[[papers]]\nkernels = []", "[[papers]]\nkernels = [1]"


@pytest.mark.parametrize(
    ("module", "file", "read", "texts"),
    [
        (presets, "PRESETS_FILE", presets.presets.__wrapped__, BAD_PRESETS),
        (preset_texts, "PRESETS_FILE", preset_texts.preset_texts, BAD_PRESETS[:2]),
        (papers, "PAPERS_FILE", papers.read_papers, BAD_PAPERS),
    ],
)
def test_that_a_damaged_list_is_reported_in_words(monkeypatch, tmp_path, module, file, read, texts):
    path = tmp_path / "list"
    monkeypatch.setattr(module, file, path)
    for text in (None, "", "{}", *texts):
        if text is not None:
            path.write_text(text, encoding="utf-8")
        with pytest.raises(EngineError, match=r"'list' cannot be read.*Install the program again"):
            read()


ROOT = Path(__file__).resolve().parents[3]
# Stands still in the middle of a save: the part is written, and has not its name yet.
SAVE_AND_WAIT = """
import os, sys, signal
from engine.files.atomic_write import atomic_write
def wait(*arguments):
    print("saving", flush=True)
    signal.pause()
os.fsync = wait
atomic_write(sys.argv[1], b"new")
"""


@pytest.fixture(autouse=True)
def every_folder_is_new(monkeypatch):
    monkeypatch.setattr(module, "_looked_at", set())


def parts(folder):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


@posix
def test_that_a_save_removes_just_what_a_killed_one_left(tmp_path):
    command = [sys.executable, "-c", SAVE_AND_WAIT]
    savers = [
        subprocess.Popen([*command, str(tmp_path / name)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for name in ("killed.csv", "living.csv")
    ]
    try:
        for saver in savers:
            assert saver.stdout.readline() == "saving\n"
        # Only their owner can read them.
        assert [os.stat(tmp_path / name).st_mode & 0o777 for name in parts(tmp_path)] == [0o600] * 2
        savers[0].send_signal(signal.SIGKILL)
        savers[0].wait()
        atomic_write(tmp_path / "next.csv", b"1")
        (left,) = parts(tmp_path)
        assert f"-{savers[1].pid}-" in left
    finally:
        for saver in savers:
            saver.kill()
            saver.wait()
            saver.stdout.close()


@posix
def test_that_a_part_of_another_machine_is_left_for_a_day(tmp_path):
    path = tmp_path / ".haloscope-0000000z-1-abcd.part"
    path.write_bytes(b"x")
    with part_file(tmp_path) as locked:
        remove_dead_parts(tmp_path)
        assert path.exists()
        for old in (path, locked.name):
            os.utime(old, (time.time() - 90_000,) * 2)
        module._looked_at.clear()
        remove_dead_parts(tmp_path)
        assert parts(tmp_path) == [os.path.basename(locked.name)]
    module._looked_at.clear()
    remove_dead_parts(tmp_path)
    assert parts(tmp_path) == []


def test_that_files_of_other_names_links_and_folders_are_left(tmp_path):
    names = [".haloscope-notes.txt", "picture.part"]
    for name in names:
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".haloscope-link.part").symlink_to(tmp_path / names[0])
    (tmp_path / ".haloscope-folder.part").mkdir()
    remove_dead_parts(tmp_path)
    assert len(os.listdir(tmp_path)) == 4


@posix
def test_that_a_part_removed_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    lock, removed = module.lock, []

    def lock_late(descriptor, *, wait):
        if not removed:
            removed.extend(parts(tmp_path))
            os.unlink(tmp_path / removed[0])
        return lock(descriptor, wait=wait)

    monkeypatch.setattr(module, "lock", lock_late)
    atomic_write(tmp_path / "a.csv", b"whole")
    assert removed
    assert (tmp_path / "a.csv").read_bytes() == b"whole"
    assert parts(tmp_path) == []


@posix
def test_that_a_folder_without_locks_is_written_to(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    atomic_write(tmp_path / "a.csv", b"1")
    assert os.listdir(tmp_path) == ["a.csv"]
