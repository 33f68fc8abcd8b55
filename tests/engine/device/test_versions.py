import shutil
import subprocess
from pathlib import Path

import pytest

from engine.device.versions import commit_of

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(root: Path, *words: str) -> str:
    person = (
        "-c",
        "user.name=Somebody",
        "-c",
        "user.email=somebody@example.org",
        "-c",
        "commit.gpgsign=false",
    )
    command = ["git", "-C", str(root), *person, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a repository of one file and one commit."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "tracked.txt").write_text("before", encoding="utf-8")
    git(tmp_path, "add", "tracked.txt")
    git(tmp_path, "commit", "--quiet", "--message", "First")
    return tmp_path


@needs_git
def test_that_a_clean_checkout_has_its_commit_whatever_untracked_files_lie_in_it(checkout: Path) -> None:
    (checkout / "untracked.txt").write_text("", encoding="utf-8")
    assert commit_of(checkout) == git(checkout, "rev-parse", "--short=12", "HEAD")


@needs_git
def test_that_a_changed_tracked_file_is_told(checkout: Path) -> None:
    (checkout / "tracked.txt").write_text("after it", encoding="utf-8")
    assert commit_of(checkout) == git(checkout, "rev-parse", "--short=12", "HEAD") + " + changes"


def test_that_there_is_no_commit_outside_a_checkout(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == ""


def test_that_there_is_no_commit_where_git_knows_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert commit_of(tmp_path) == ""


@pytest.mark.parametrize("fault", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 5)], ids=repr)
def test_that_a_git_that_is_missing_or_slow_costs_the_commit_only(
    fault: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: object, **options: object) -> None:
        raise fault

    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(subprocess, "run", run)
    assert commit_of(tmp_path) == ""
