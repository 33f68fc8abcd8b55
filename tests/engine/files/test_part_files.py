"""What a killed save leaves behind, and who may remove it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.files import atomic_write as part_files
from engine.files.atomic_write import atomic_write, part_file, remove_dead_parts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks are POSIX's")

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
    monkeypatch.setattr(part_files, "_looked_at", set())


def parts(folder):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


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


def test_that_a_part_of_another_machine_is_left_for_a_day(tmp_path):
    path = tmp_path / ".haloscope-0000000z-1-abcd.part"
    path.write_bytes(b"x")
    with part_file(tmp_path) as locked:
        remove_dead_parts(tmp_path)
        assert path.exists()
        for old in (path, locked.name):
            os.utime(old, (time.time() - 90_000,) * 2)
        part_files._looked_at.clear()
        remove_dead_parts(tmp_path)
        assert parts(tmp_path) == [os.path.basename(locked.name)]
    part_files._looked_at.clear()
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


def test_that_a_part_removed_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    lock, removed = part_files.lock, []

    def lock_late(descriptor, *, wait):
        if not removed:
            removed.extend(parts(tmp_path))
            os.unlink(tmp_path / removed[0])
        return lock(descriptor, wait=wait)

    monkeypatch.setattr(part_files, "lock", lock_late)
    atomic_write(tmp_path / "a.csv", b"whole")
    assert removed
    assert (tmp_path / "a.csv").read_bytes() == b"whole"
    assert parts(tmp_path) == []


def test_that_a_folder_without_locks_is_written_to(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    atomic_write(tmp_path / "a.csv", b"1")
    assert os.listdir(tmp_path) == ["a.csv"]
