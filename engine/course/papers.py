"""The course papers as `assets/course/papers.toml` lists them: kernels, texts of tables. No Numba."""

import tomllib

from engine.course.paper import MISPRINT, CodePlace, CourseKernel, Paper, TableText
from engine.errors import UnknownName, did_you_mean
from engine.files.assets import ASSETS, faults_of_asset
from engine.files.reading import Json
from engine.geometry.block import Block

PAPERS_FILE = ASSETS / "course" / "papers.toml"


def read_papers() -> dict[Paper, tuple[TableText, ...]]:
    """Return all papers in the course's order with the texts of their tables, or refuse a damaged file."""
    with faults_of_asset(PAPERS_FILE, "The list of papers"):
        document = tomllib.loads(PAPERS_FILE.read_text(encoding="utf-8"))
        return dict(_paper(entry) for entry in document["papers"])


def _paper(entry: Json) -> tuple[Paper, tuple[TableText, ...]]:
    kernels = tuple(_kernel(kernel) for kernel in entry.pop("kernels"))
    texts = tuple(_table(table) for table in entry.pop("tables"))
    return Paper(kernels=kernels, tables=tuple(text.title for text in texts), **entry), texts


def _table(entry: Json) -> TableText:
    found = entry.get("printed", {})
    printed = {names: tuple(value.rstrip(f" {MISPRINT}") for value in row) for names, row in found.items()}
    misprints = {
        names: frozenset(position for position, value in enumerate(row) if value.endswith(MISPRINT))
        for names, row in found.items()
    }
    headings, notes = tuple(entry["headings"].split(" | ")), tuple(entry.get("notes", ()))
    values, rows = entry.get("values", {}), tuple(map(tuple, entry.get("rows", ())))
    places = {
        name: tuple(CodePlace(one["code"], tuple(one["lit"])) for one in found)
        for name, found in entry.get("code", {}).items()
    }
    return TableText(entry["title"], headings, notes, printed, misprints, values, rows, places)


def _kernel(entry: Json) -> CourseKernel:
    block = entry.pop("block", None)
    return CourseKernel(block=Block(*block) if block else None, **entry)


TABLE_TEXTS = read_papers()
PAPERS = tuple(TABLE_TEXTS)


def paper(key: str) -> Paper:
    """Return the paper of that key; raises UnknownName, whose remedy has the nearest one."""
    by_key = {known.key: known for known in PAPERS}
    if key in by_key:
        return by_key[key]
    shown = key if len(key) <= 40 else f"{key[:39]}…"
    remedy = f"{did_you_mean(key.lower(), by_key, 0.4)}Choose one of {', '.join(by_key)}."
    raise UnknownName(f"paper '{shown}'", "no paper is called that", remedy)
