"""Tables that scripts write into documents: each between two markers, at the end of its section where there is none yet."""

import re
from pathlib import Path

VARIANTS_DOCUMENT = Path("docs/variants.md")


def put(document: Path, heading: str, name: str, script: str, lines: list[str]) -> None:
    """Write a table into the section of a document whose heading begins so.

    Parameters
    ----------
    document : Path
    heading : str
        How the section's heading begins, without its #s.
    name : str
        What the table is called in its markers; another one of that name in the section is replaced.
    script : str
        The module that writes it.
    lines : list of str
        Markdown.

    Raises
    ------
    LookupError
        The document has no such section.
    """
    sections = re.split(r"(?m)^(?=#{2,3} )", document.read_text(encoding="utf-8"))
    wanted = re.compile(rf"#{{2,3}} {re.escape(heading)}")
    number = next((number for number, text in enumerate(sections) if wanted.match(text)), None)
    if number is None:
        raise LookupError(f"{document} has no section '{heading}'")
    begin, end = f"<!-- {name}, written by python -m {script} -->", f"<!-- end of {name} -->"
    before = rf"\n*<!-- {re.escape(name)}, written by .*?{re.escape(end)}\n*"
    text = re.sub(before, "\n\n", sections[number], flags=re.DOTALL).rstrip()
    sections[number] = "\n".join([text, "", begin, *lines, end, "", ""])
    document.write_text("".join(sections).rstrip() + "\n", encoding="utf-8")
