"""The tables of the documents, each between two markers and made from a file in bench/results.

python -m bench.document      writes all of them anew; nothing in a document between such markers is typed by
hand
"""

import json
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PERFORMANCE = Path("docs/performance.md")
VARIANT_PAGES = Path("docs/variants")
RESULTS = Path("bench/results")
LINE_LENGTH = 110


@dataclass(frozen=True)
class DocumentTable:
    """What stands between two markers of a document.

    Parameters
    ----------
    document : Path
    name : str
        In the markers <!-- name --> and <!-- /name -->.
    lines : list of str
        Markdown.
    """

    document: Path
    name: str
    lines: list[str]


def page_of(key: str) -> Path:
    """Return the page in docs/variants that has the section of a variant.

    Raises
    ------
    LookupError
        No page has it.
    """
    for page in sorted(VARIANT_PAGES.glob("*.md")):
        if f"\n## `{key}`\n" in page.read_text(encoding="utf-8"):
            return page
    raise LookupError(f"no page in {VARIANT_PAGES} has a section for `{key}`")


def put(tables: Iterable[DocumentTable]) -> None:
    """Write tables between their markers."""
    for table in tables:
        put_between(table.document, table.name, table.lines)


def put_between(document: Path, name: str, lines: list[str]) -> None:
    """Replace what stands between <!-- name --> and <!-- /name -->.

    Parameters
    ----------
    document : Path
    name : str
    lines : list of str
        Markdown.

    Raises
    ------
    LookupError
        The document does not have both markers, once each and in that order.
    """
    text = document.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed or begin in rest or end in after:
        raise LookupError(f"{document} needs one {begin} and one {end} after it")
    text = "\n".join([f"{before}{begin}", "", *wrapped(lines), "", f"{end}{after}"])
    document.write_text(text, encoding="utf-8")


def wrapped(lines: Iterable[str]) -> list[str]:
    """Return Markdown whose prose ends at `LINE_LENGTH`; rows of tables and links to pictures stay whole."""
    found: list[str] = []
    for line in lines:
        if not line or line.startswith(("|", "![")):
            found.append(line)
        else:
            indent = "  " if line.startswith("- ") else ""
            found += textwrap.wrap(
                line, LINE_LENGTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
    return found


def kept_tables() -> list[DocumentTable]:
    """Return every table of the documents, made from the files in bench/results."""
    from bench import figures, window
    from bench.peers.__main__ import document_tables as peers
    from bench.whole import tables as whole

    makers: dict[str, Callable[[Any], list[DocumentTable]]] = {
        "whole-2-cores": whole.tables,
        "whole-h200": whole.tables,
        "window-2-cores": window.tables,
        "figures-h200": figures.tables,
        "peers-gpu": peers,
        "peers-cpu": peers,
    }
    return [
        table
        for name, tables in makers.items()
        for table in tables(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))
    ]


if __name__ == "__main__":
    put(kept_tables())
