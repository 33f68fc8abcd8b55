import shutil
import subprocess
from pathlib import Path

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


def test_that_there_is_no_commit_outside_a_checkout_and_where_git_knows_none(tmp_path):
    assert commit_of(tmp_path) == ""
    (tmp_path / ".git").mkdir()
    assert commit_of(tmp_path) == ""


@pytest.mark.parametrize("fault", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 5)], ids=repr)
def test_that_a_git_that_is_missing_or_slow_costs_the_commit_only(fault, tmp_path, monkeypatch):
    def run(*arguments: object, **options: object) -> None:
        raise fault

    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(subprocess, "run", run)
    assert commit_of(tmp_path) == ""
