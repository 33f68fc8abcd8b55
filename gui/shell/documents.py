"""The documents that come with the program: where they are, their titles and texts. No widgets.

Beside the program in a clone, within the package where it is installed, as the assets are.
"""

import re
from collections.abc import Mapping
from functools import cache

from engine.files.assets import ASSETS

FOLDER = ASSETS.parent / "docs"
HOME = "window.md"
PATTERNS = "*.md", "variants/*.md"

_HEADING = re.compile(r"(?m)^(#+) (.+)$")
_PICTURE = re.compile(r"(?m)^\s*!\[([^\]]*)\]\([^)]*\)\n?")


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


@cache
def text_of(name: str) -> str:
    """Return a document without its pictures, which are not in the window; empty where it cannot be read."""
    try:
        return _PICTURE.sub("", (FOLDER / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
