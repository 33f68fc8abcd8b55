import errno
import os
import stat

import pytest

from engine.errors import FileWriteError
from engine.files.atomic_write import atomic_write


def failing(number):
    def fail(*arguments, **keywords):
        raise OSError(number, os.strerror(number))

    return fail


def test_that_new_bytes_replace_the_old_ones(tmp_path):
    path = tmp_path / "results.json"
    atomic_write(path, b"old")
    atomic_write(path, b"new and longer")
    assert path.read_bytes() == b"new and longer"
    assert os.listdir(tmp_path) == ["results.json"]


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_that_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, number):
    path = tmp_path / "session.json"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, step, failing(number))
    with pytest.raises(FileWriteError):
        atomic_write(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["session.json"]


def test_that_an_interrupt_leaves_no_temporary_file(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(tmp_path / "a.csv", b"1")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "full"), (errno.EROFS, "only be read"), (errno.EACCES, "may not write"), (errno.EIO, "")],
)
def test_that_the_reason_is_told_in_words(tmp_path, monkeypatch, number, words):
    monkeypatch.setattr(os, "replace", failing(number))
    with pytest.raises(FileWriteError) as caught:
        atomic_write(tmp_path / "a.csv", b"1")
    assert words in caught.value.why
    assert caught.value.why
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing/a.csv", "does not exist"),
        ("file/a.csv", "not a folder"),
        ("folder", "it is a folder"),
        ("folder/", "it is a folder"),
        ("n" * 300, "too long"),
        ("a\0b", "not a possible path"),
    ],
)
def test_that_a_path_that_cannot_be_written_is_refused_in_words(tmp_path, name, words):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileWriteError) as caught:
        atomic_write(f"{tmp_path}/{name}", b"1")
    assert words in caught.value.why
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and pipes are POSIX's")
class TestPosix:
    def test_that_a_new_file_has_the_permissions_that_any_program_gives(self, tmp_path):
        (tmp_path / "plain").write_bytes(b"")
        atomic_write(tmp_path / "ours", b"")
        assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE(
            (tmp_path / "plain").stat().st_mode
        )

    def test_that_a_replaced_file_keeps_its_permissions(self, tmp_path):
        path = tmp_path / "a"
        path.write_bytes(b"")
        path.chmod(0o640)
        atomic_write(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_that_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "target").write_bytes(b"old")
        (tmp_path / "link").symlink_to("target")
        atomic_write(tmp_path / "link", b"new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "target").read_bytes() == b"new"

    def test_that_a_loop_of_links_is_refused(self, tmp_path):
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        with pytest.raises(FileWriteError, match="loop of symbolic links"):
            atomic_write(tmp_path / "a", b"new")
        assert (tmp_path / "a").readlink().name == "b"

    def test_that_a_pipe_is_not_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FileWriteError, match="device"):
            atomic_write(tmp_path / "pipe", b"new")
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)

    def test_that_a_protected_file_is_not_replaced(self, tmp_path, monkeypatch):
        (tmp_path / "a").write_bytes(b"old")
        # Root may write everything, so the answer is given here.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(FileWriteError, match="protected"):
            atomic_write(tmp_path / "a", b"new")
        assert (tmp_path / "a").read_bytes() == b"old"
