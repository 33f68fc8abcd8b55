"""Tables of the documents: each stands between two markers, and nothing between them is typed by hand."""

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# The page with the answers, and the appendix with every figure.
PERFORMANCE = Path("docs/performance.md")
TABLES = Path("docs/performance-tables.md")
PICTURES = Path("docs/pictures")
VARIANT_PAGES = Path("docs/variants")
LINE_LENGTH = 110


@dataclass(frozen=True)
class DocumentTable:
    """What stands between two markers of a document."""

    document: Path
    name: str  # In the markers <!-- name --> and <!-- /name -->
    lines: list[str]  # Markdown


def page_of(key: str) -> Path:
    """Return the page in docs/variants that has the section of a variant.

    Raises LookupError where no page has it.
    """
    for page in sorted(VARIANT_PAGES.glob("*.md")):
        if f"\n## `{key}`\n" in page.read_text(encoding="utf-8"):
            return page
    raise LookupError(f"no page in {VARIANT_PAGES} has a section for `{key}`")


def put_between(document: Path, name: str, lines: list[str]) -> None:
    """Replace what stands between <!-- name --> and <!-- /name -->.

    `lines`: markdown.

    Raises LookupError where the document does not have both markers, once each and in that order.
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
