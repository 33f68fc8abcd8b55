"""Names of files as they cross a line: of a file below a folder that both sides know, and of nothing else."""

import hashlib
import os
from pathlib import Path

from engine.remote.schema import NotOfTheSchema

_MOST_LETTERS, _MOST_NAME_BYTES = 400, 255


def is_place(text: str) -> bool:
    """Return whether a text is the name of a file below a folder, and cannot be one outside it.

    It has no part that is hidden, such as `.bashrc`, no letter that separates or ends names on some system,
    and none that cannot be seen.
    """
    parts = text.split("/")
    return len(text) < _MOST_LETTERS and text.isprintable() and all(map(_is_name, parts))


def _is_name(part: str) -> bool:
    is_plain = part != "" and not part.startswith(".") and not any(letter in part for letter in "\\:")
    return is_plain and len(part.encode()) <= _MOST_NAME_BYTES


def path_below(folder: str, place: str) -> Path:
    """Return the path of a place. Raises NotOfTheSchema: it is none, or a link in the folder leads out."""
    if not is_place(place):
        raise NotOfTheSchema("A file was refused", f"its place is {place[:60]!r}")
    path = Path(folder, *place.split("/"))
    if not path.resolve().is_relative_to(Path(folder).resolve()):
        raise NotOfTheSchema("A file was refused", f"a link leads from {folder} to {path.resolve()}")
    return path


def name_there(name: str) -> str:
    """Return what a file of any name is called on the other side: the same, or one made up of its bytes."""
    if is_place(name):
        return name
    made = hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()
    suffix = os.path.splitext(name)[1]
    return f"{made}{suffix}" if is_place(f"{made}{suffix}") else made
