"""Why kernels are greyed, short enough for a list of them."""

from collections.abc import Sequence
from itertools import groupby


def short_reason(reason: str) -> str:
    """Return the beginning of a reason; its details and the remedy are left to the tooltip."""
    for end in (". ", "; ", ", and "):
        reason = reason.split(end)[0]
    return reason.rstrip(".")


def reasons_in_list(reasons: Sequence[str]) -> list[str]:
    """Return the text under each kernel of a list: its short reason, once for neighbours that share it.

    `reasons` has the whole reason of each kernel that is greyed, "" for the others.
    """
    texts: list[str] = []
    for short, group in groupby(reasons, key=short_reason):
        count = len(list(group))
        text = f"{short} ({count} kernels)" if short and count > 1 else short
        texts += [text] + [""] * (count - 1)
    return texts
