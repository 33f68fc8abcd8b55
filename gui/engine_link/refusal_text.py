"""Why kernels are greyed, short enough for the list that they stand in."""

from collections.abc import Sequence
from itertools import groupby


def short_reason(reason: str) -> str:
    """Return what a reason says at first; its details and what would do are left to the tooltip."""
    for end in (". ", "; ", ", and "):
        reason = reason.split(end)[0]
    return reason.rstrip(".")


def reasons_in_list(reasons: Sequence[str]) -> list[str]:
    """Return what stands under each kernel of a list: its reason, told once for neighbours that share it.

    Parameters
    ----------
    reasons : sequence of str
        The whole reason of each kernel that is greyed, "" for the others.
    """
    told: list[str] = []
    for short, group in groupby(reasons, key=short_reason):
        count = len(list(group))
        words = f"{short} ({count} kernels)" if short and count > 1 else short
        told += [words] + [""] * (count - 1)
    return told
