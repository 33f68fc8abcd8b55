"""The course papers, as `assets/course/papers.toml` lists them: kernels and which is which here. No Numba."""

import difflib
import tomllib
from typing import Any

from engine.course.paper import Configuration, CourseKernel, Paper
from engine.errors import UnknownName
from engine.files.assets import ASSETS, faults_of_asset
from engine.geometry.block import Block

PAPERS_FILE = ASSETS / "course" / "papers.toml"


def read_papers() -> tuple[Paper, ...]:
    """Return all papers in the course's order, or refuse a file that is damaged."""
    with faults_of_asset(PAPERS_FILE, "The list of papers"):
        document = tomllib.loads(PAPERS_FILE.read_text(encoding="utf-8"))
        return tuple(_paper(entry) for entry in document["papers"])


def _paper(entry: dict[str, Any]) -> Paper:
    kernels = tuple(_kernel(kernel) for kernel in entry.pop("kernels"))
    return Paper(kernels=kernels, tables=tuple(entry.pop("tables")), **entry)


def _kernel(entry: dict[str, Any]) -> CourseKernel:
    words = {key: entry.pop(key) for key in ("name", "place", "difference") if key in entry}
    block = entry.pop("block", None)
    return CourseKernel(here=Configuration(block=Block(*block) if block else None, **entry), **words)


PAPERS = read_papers()


def paper(key: str) -> Paper:
    """Return the paper of that key.

    Raises
    ------
    UnknownName
        No paper is called so; the remedy names the nearest one.
    """
    by_key = {known.key: known for known in PAPERS}
    if key in by_key:
        return by_key[key]
    near = difflib.get_close_matches(key.lower(), by_key, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]}? " if near else ""
    shown = key if len(key) <= 40 else f"{key[:39]}…"
    raise UnknownName(
        f"paper '{shown}'", "no paper is called that", f"{hint}Choose one of {', '.join(by_key)}."
    )
