"""Versions for the record: the libraries that decide how fast a kernel is, and the commit of a checkout."""

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("numpy", "numba", "numba-cuda", "llvmlite", "cuda-bindings", "nvidia-nvvm")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that take part, by name."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def commit() -> str:
    """Return the short hash of the checkout's commit; empty outside a checkout or without git."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
