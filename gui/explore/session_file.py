"""Sessions as files: picture, mask and settings, to continue work another day. No widgets in here.

The picture is only named in the file; the mask is in it, with anchor, offset and name.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import EngineError, MaskError
from engine.files.atomic_write import atomic_write
from engine.geometry.block import Block
from engine.geometry.block_list import EVERY, MOST_BLOCKS, every_block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.image.convert import RANGE_MODES
from engine.mask.json_form import mask_from_values, mask_values
from engine.mask.mask import MAX_NAME_CHARACTERS, Mask
from engine.tasks.filtering.problem import RESULT_TYPES
from gui.explore.workspace import Settings
from gui.strict_json import read_strict_json, text_of

FORMAT = "haloscope-session"
VERSION = 1
# A mask of 63 x 63 with 17 digits per weight has 90 kB.
LARGEST_BYTES = 1 << 20
LARGEST_BLOCK_SIDE = 1024


class SessionError(EngineError):
    """A file is not a session, or a value in it is out of range."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a session file holds: a picture (by path, as a sample, or none), the mask as typed, settings."""

    # Absolute when it comes from a file.
    picture_path: str
    sample: str
    mask: Mask
    settings: Settings
    # The operation that is chosen instead of convolution, and its own settings by name.
    operation: str = ""
    choice: Mapping[str, Any] = field(default_factory=dict)
    # What other pages add, by their keys; they check it themselves.
    pages: Mapping[str, Any] = field(default_factory=dict)


def save_session(path: Path, session: Session) -> None:
    """Write a session.

    Raises
    ------
    FileWriteError
        The file cannot be written there.
    """
    mask, settings = session.mask, session.settings
    document = {
        "format": FORMAT,
        "version": VERSION,
        "picture": {"path": session.picture_path, "sample": session.sample},
        "mask": mask_values(mask),
        "settings": {key: _plain(getattr(settings, key)) for key in _SETTINGS},
    }
    if session.operation:
        choice = {key: _plain(session.choice[key]) for key in CHOICES}
        document["operation"] = {"key": session.operation} | choice
    if session.pages:
        document["pages"] = dict(session.pages)
    atomic_write(path, (json.dumps(document, indent=2, allow_nan=False) + "\n").encode())


def load_session(path: Path) -> Session:
    """Read a session; a relative path of a picture is taken from the session's folder.

    Raises
    ------
    SessionError
        The file cannot be read, is not a session, or a value is out of range.
    """
    try:
        document = read_strict_json(path, LARGEST_BYTES)
    except EngineError as error:
        raise SessionError(error.what, error.why, error.remedy) from error
    try:
        return _session(document, path.parent)
    except (ValueError, MaskError) as error:
        why = (
            f"its mask is not valid. {error.what}: {error.why}"
            if isinstance(error, MaskError)
            else str(error)
        )
        remedy = "Choose another file, or save the session again."
        raise SessionError(f"{path.name} cannot be opened as a session", why, remedy) from error


def _session(document: dict[str, Any], folder: Path) -> Session:
    """Return a session; a ValueError says what is wrong with which key."""
    if document.get("format") != FORMAT:
        raise ValueError(f'its "format" is not "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise ValueError(f"its version is {version!r}, and this program reads version {VERSION}")
    for key in ("picture", "mask", "settings"):
        if not isinstance(document.get(key), dict):
            raise ValueError(f'its "{key}" is missing or not a table')
    picture = _read(document["picture"], {"path": text_of, "sample": text_of})
    path, name = picture.get("path", ""), _read(document["mask"], {"name": _mask_name}).get("name", "")
    operation, choice = _operation(document.get("operation", {}), folder)
    return Session(
        picture_path=str((folder / path).resolve()) if path else "",
        sample=picture.get("sample", ""),
        mask=mask_from_values(document["mask"], name),
        # What is missing, as in older sessions, has its default.
        settings=Settings(**_read(document["settings"], _SETTINGS)),
        operation=operation,
        choice=choice,
        pages=_pages(document.get("pages", {})),
    )


def _pages(table: object) -> dict[str, Any]:
    if not isinstance(table, dict) or not all(isinstance(part, dict) for part in table.values()):
        raise ValueError('its "pages" is not a table of tables')
    return table


def _operation(table: object, folder: Path) -> tuple[str, dict[str, Any]]:
    """Return the key of an operation and its own settings; an empty key where the session has none."""
    if not isinstance(table, dict):
        raise ValueError('its "operation" is not a table')
    if not table:
        return "", {}
    # Its modules take a while to import; most sessions have none.
    from engine.tasks.operation.operations import operation_named

    try:
        operation = operation_named(table.get("key"))
        choice = choice_of(Settings()) | _read(table, CHOICES)
        parameters = operation.read(choice["parameters"])
    except EngineError as error:
        raise ValueError(f'its "operation" is not valid. {error}') from error
    defaults = operation.read({})
    own = {name: value for name, value in parameters.items() if value != defaults[name]}
    patch = choice["patch_path"]
    path = str((folder / patch).resolve()) if patch else ""
    return operation.key, choice | {"parameters": own, "patch_path": path}


def choice_of(settings: Settings) -> dict[str, Any]:
    """Return those of the settings of an operation that a session keeps with it."""
    return {key: getattr(settings, key) for key in CHOICES}


def _read(table: dict[str, Any], readers: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Return the values of those keys that are in a table, each checked."""
    values = {}
    for key, read in readers.items():
        if key in table:
            try:
                values[key] = read(table[key])
            except ValueError as error:
                raise ValueError(f'its "{key}" {error}') from error
    return values


def _mask_name(value: object) -> str:
    if len(name := text_of(value)) > MAX_NAME_CHARACTERS:
        raise ValueError(f"has more than {MAX_NAME_CHARACTERS} characters")
    return name


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("is neither true nor false")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("is not a finite number")
    return float(value)


def _block(value: object) -> Block | None:
    if value is None:
        return None
    sides = value if isinstance(value, list) and len(value) == 2 else [0, 0]
    if not all(type(side) is int and 1 <= side <= LARGEST_BLOCK_SIDE for side in sides):
        raise ValueError(f"is not two whole numbers from 1 to {LARGEST_BLOCK_SIDE}")
    return Block(*sides)


def _listed(read: Callable[[object], Any]) -> Callable[[object], tuple[Any, ...]]:
    """Return a reader of lists; what is in one twice is taken once."""

    def read_all(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > MOST_BLOCKS:
            raise ValueError(f"is not a list of at most {MOST_BLOCKS}")
        return tuple(dict.fromkeys(map(read, value)))

    return read_all


def _blocks(value: object) -> tuple[Block, ...]:
    return every_block() if value == EVERY else _listed(_some_block)(value)


def _some_block(value: object) -> Block:
    block = _block(value)
    if block is None:
        raise ValueError("has something that is not a block")
    return block


def _one_of(choices: Iterable[str]) -> Callable[[object], str]:
    """Return a reader of texts that takes these; members of an enumeration are returned as such."""

    def read(value: object) -> str:
        known = {str(choice): choice for choice in choices}
        if (text := text_of(value)) not in known:
            raise ValueError(f"is {text[:40]!r} and not one of {', '.join(known)}")
        return known[text]

    return read


def _plain(value: object) -> object:
    """Return a setting as JSON has it."""
    if value == every_block():
        return EVERY
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return [value.x, value.y] if isinstance(value, Block) else value


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("is not a table")
    return value


CHOICES: dict[str, Callable[[Any], Any]] = {
    "parameters": _table,
    "patch_path": text_of,
    "variant": text_of,
    "block": _block,
}
_SETTINGS: dict[str, Callable[[Any], Any]] = {
    "border": _one_of(Border),
    "cval": _number,
    "flip": _truth,
    "normalise": _truth,
    "variant": text_of,
    "device": text_of,
    "block": _block,
    "range_mode": _one_of(RANGE_MODES),
    "baseline": text_of,
    "layout": _one_of(Layout),
    "result_type": _one_of(RESULT_TYPES),
    "blocks": _blocks,
    "kernels": _listed(text_of),
}
