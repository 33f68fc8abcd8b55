import shutil
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from engine.device.versions import commit_of


def git(root: Path, *words: str) -> str:
    person = "user.name=Somebody", "user.email=somebody@example.org", "commit.gpgsign=false"
    command = ["git", "-C", str(root), *(word for setting in person for word in ("-c", setting)), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_that_a_checkout_has_its_commit_and_a_changed_tracked_file_is_noted(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "tracked.txt").write_text("before", encoding="utf-8")
    git(tmp_path, "add", "tracked.txt")
    git(tmp_path, "commit", "--quiet", "--message", "First")
    (tmp_path / "untracked.txt").write_text("", encoding="utf-8")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert commit_of(tmp_path) == commit
    (tmp_path / "tracked.txt").write_text("after it", encoding="utf-8")
    assert commit_of(tmp_path) == f"{commit} + changes"


def test_that_there_is_no_commit_outside_a_checkout_or_where_git_knows_none_is_missing_or_slow(
    tmp_path, monkeypatch
):
    assert commit_of(tmp_path) == ""
    (tmp_path / ".git").mkdir()
    assert commit_of(tmp_path) == ""
    for fault in (FileNotFoundError("git"), subprocess.TimeoutExpired("git", 5)):
        monkeypatch.setattr(subprocess, "run", Mock(side_effect=fault))
        assert commit_of(tmp_path) == ""
