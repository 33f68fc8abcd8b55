"""What crosses beside a message: arrays in shared memory by keys, files by names that lead nowhere else."""

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from engine.errors import NotOfTheSchema
from engine.host.request import SharedArray
from engine.message import Message


def _refuse(*_: object) -> Any:
    raise NotOfTheSchema("A message", "it holds an array in shared memory, or a file, where none may be")


@dataclass(frozen=True, slots=True)
class Crossing:
    """How arrays in shared memory, and files that a request names, cross: beside the message, by a name.

    An array has a key for its name then, and its number among the arrays of that for its first byte.
    """

    array: Callable[[SharedArray], SharedArray] = _refuse
    file: Callable[[str], str] = _refuse

    def __call__(self, message: Message) -> Message:
        """Return a message on this side as it is on the other one, or the other way round."""
        if isinstance(message, SharedArray):
            return self.array(message)
        files = {name: getattr(message, name) for name in getattr(message, "file_fields", ())}
        named = {name: self.file(path) for name, path in files.items() if path}
        fields = getattr(message, "stays_here", {}) | named
        return replace(message, **fields) if fields else message


NOTHING_BESIDE = Crossing()
_MOST_LETTERS, _MOST_NAME_BYTES = 400, 255
_PLACE = re.compile(r"[^./\\:][^/\\:]*(/[^./\\:][^/\\:]*)*")


def is_place(text: str) -> bool:
    """Return whether a text is the name of a file below a folder, and cannot be one outside it.

    It has no part that is hidden, such as `.bashrc`, no letter that separates or ends names on some system,
    and none that cannot be seen.
    """
    if not text.isprintable() or not _PLACE.fullmatch(text):
        return False
    return len(text) < _MOST_LETTERS and max(map(len, text.encode().split(b"/"))) <= _MOST_NAME_BYTES


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
    made = hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()
    return next(filter(is_place, (name, f"{made}{os.path.splitext(name)[1]}", made)))
