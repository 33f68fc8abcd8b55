"""The documents that come with the program: where they are, their sections, searching them. No widgets.

Beside the program in a clone, within the package where it is installed, as the assets are.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from engine.files.assets import ASSETS

FOLDER = ASSETS.parent / "docs"
HOME = "window.md"
PATTERNS = "*.md", "variants/*.md"
MOST_FOUND = 60

_HEADING = re.compile(r"(?m)^(#+) (.+)$")
_CODE = re.compile(r"(?ms)^```.*?^```")
_PICTURE = re.compile(r"(?m)^\s*!\[([^\]]*)\]\([^)]*\)\n?")


class Section(NamedTuple):
    """A part of a document under one heading."""

    document: str  # name of the file, as seen from the folder
    title: str
    anchor: str  # as GitHub makes it; empty for the whole document
    text: str


def section_of(sections: Mapping[str, str], panel: str) -> str:
    """Return the link to the section of a panel, else to that of its page, else to the manual."""
    return sections.get(panel) or sections.get("") or HOME


@cache
def documents() -> dict[str, str]:
    """Return the title of each document that can be shown, by the name of its file: the manual first."""
    paths = [path for pattern in PATTERNS for path in sorted(FOLDER.glob(pattern))]
    names = sorted((path.relative_to(FOLDER).as_posix() for path in paths), key=lambda name: name != HOME)
    headings = ((name, _HEADING.search(text_of(name))) for name in names)
    return {name: found[2].replace("`", "") for name, found in headings if found}


def resolved(link: str, document: str) -> str:
    """Return the name of the file that a link within a document leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(document), link)) if link else document


@cache
def text_of(name: str) -> str:
    """Return a document without its pictures, which are not in the window; empty where it cannot be read."""
    try:
        return _PICTURE.sub("", (FOLDER / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""


def sections(name: str) -> Iterator[Section]:
    """Yield the sections of a document; what stands before its second heading is the whole document's."""
    text = text_of(name)
    # A comment in code is no heading.
    blank = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    headings = list(_HEADING.finditer(blank))
    ends = [found.start() for found in headings[1:]] + [len(text)]
    for number, (found, end) in enumerate(zip(headings, ends, strict=True)):
        yield Section(
            name, found[2].replace("`", ""), anchor_of(found[2]) if number else "", text[found.end() : end]
        )


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def search(words: str) -> list[Section]:
    """Return the sections that have all of these words, those with them in their titles first."""
    wanted = words.casefold().split()
    if not wanted:
        return []
    found = []
    for name in documents():
        for section in sections(name):
            title, text = section.title.casefold(), section.text.casefold()
            if all(word in title or word in text for word in wanted):
                found.append((-sum(word in title for word in wanted), section))
    found.sort(key=lambda one: one[0])
    return [section for _, section in found[:MOST_FOUND]]
