"""Text that a script writes into a document between two markers, and nothing outside them."""

from pathlib import Path


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
    document.write_text("\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"]), encoding="utf-8")
