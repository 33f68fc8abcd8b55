"""Versions for the record: the libraries that decide how fast a kernel is, and the commit of a checkout."""

import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path

SERVER_VARIABLE = "HALOSCOPE_SERVER"
"""What this machine is called on the one where results are looked at; set by `engine.remote`."""

COMMIT_VARIABLE = "HALOSCOPE_COMMIT"
"""Which commit a copy of a checkout is of; `bench.recorded --commit` sets it."""

_PACKAGES = (
    "numpy", "numba", "numba-cuda", "llvmlite", "cuda-bindings", "cuda-core", "nvidia-nvvm",
    "nvidia-nvjitlink",
)  # fmt: skip


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that take part, by name."""
    # 15 ms: only where a result is recorded.
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def where() -> str:
    """Return what follows the names of devices for somebody on another machine: " on user@server"."""
    server = os.environ.get(SERVER_VARIABLE, "")
    return f" on {server}" if server else ""


@cache
def commit() -> str:
    """Return the commit of this checkout, as `commit_of`; of a copy without git what COMMIT_VARIABLE says."""
    return commit_of(Path(__file__).parents[2]) or os.environ.get(COMMIT_VARIABLE, "")


def commit_of(root: Path) -> str:
    """Return the short hash of a checkout's commit: "abc123def456 + changes" if tracked files differ.

    Empty outside a checkout, without git, and where git does not answer in time.
    """
    if not (root / ".git").exists():
        return ""
    # 10 ms: only where a result is recorded.
    import subprocess

    def output(*command: str) -> bytes:
        # Bytes: names of files need not be text. No locks: reading must not disturb another git command.
        git = ["git", "--no-optional-locks", "-C", str(root), *command]
        return subprocess.run(git, capture_output=True, check=True, timeout=5).stdout

    try:
        found = output("rev-parse", "--short=12", "HEAD")
        is_changed = output("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.decode("ascii", "replace").strip() + (" + changes" if is_changed else "")
