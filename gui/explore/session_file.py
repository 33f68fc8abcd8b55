"""Sessions as files: picture, mask and settings, so that work can go on another day. No widgets in here.

The picture is only named in the file; the mask is in it, with anchor, offset and name.
"""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError, MaskError
from engine.files.atomic_write import atomic_write
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.image.convert import RANGE_MODES
from engine.mask.json_form import mask_from_values
from engine.mask.mask import MAX_NAME_CHARACTERS, Mask
from engine.tasks.filtering.problem import RESULT_TYPES
from gui.explore.workspace import Settings
from gui.strict_json import read_strict_json

FORMAT = "haloscope-session"
VERSION = 1
# A mask of 63 x 63 with 17 digits per weight has 90 kB.
LARGEST_BYTES = 1 << 20
LARGEST_BLOCK_SIDE = 1024
LONGEST_TEXT = 4096

_REMEDY = "Choose another file, or save the session again."


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
        "mask": {
            "name": mask.name,
            "weights": mask.weights.tolist(),
            "anchor": list(mask.anchor),
            "offset": mask.offset,
        },
        "settings": {
            "border": settings.border.value,
            "cval": settings.cval,
            "flip": settings.flip,
            "normalise": settings.normalise,
            "variant": settings.variant,
            "device": settings.device,
            "block": [settings.block.x, settings.block.y] if settings.block else None,
            "range_mode": settings.range_mode,
            "baseline": settings.baseline,
            "layout": settings.layout.value,
            "result_type": settings.result_type,
        },
    }
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
    reader = _Reader(path.name, document)
    if document.get("format") != FORMAT:
        raise reader.bad(f'its "format" is not "{FORMAT}"')
    if document.get("version") != VERSION or isinstance(document.get("version"), bool):
        raise reader.bad(
            f"its version is {document.get('version')!r}, and this program reads version {VERSION}"
        )
    picture = reader.table("picture")
    picture_path = picture.text("path", "")
    if picture_path:
        picture_path = str((path.parent / picture_path).resolve())
    return Session(
        picture_path,
        picture.text("sample", ""),
        _mask(reader.table("mask")),
        _settings(reader.table("settings")),
    )


def _mask(table: "_Reader") -> Mask:
    name = table.text("name", "")
    if len(name) > MAX_NAME_CHARACTERS:
        raise table.bad(f'its mask\'s "name" has more than {MAX_NAME_CHARACTERS} characters')
    try:
        return mask_from_values(table.values, name)
    except MaskError as error:
        raise table.bad(f"its mask is not valid. {error.what}: {error.why}") from error


def _settings(table: "_Reader") -> Settings:
    return Settings(
        border=Border(table.choice("border", "zero", tuple(border.value for border in Border))),
        cval=table.number("cval", 0.0),
        flip=table.truth("flip"),
        normalise=table.truth("normalise"),
        variant=table.text("variant", "auto"),
        device=table.text("device", "auto"),
        block=_block(table),
        range_mode=table.choice("range_mode", "clip", tuple(RANGE_MODES)),
        baseline=table.text("baseline", "cpu-serial"),
        # Older sessions have neither of these.
        layout=Layout(table.choice("layout", "pitched", tuple(layout.value for layout in Layout))),
        result_type=table.choice("result_type", "float32", RESULT_TYPES),
    )


def _block(table: "_Reader") -> Block | None:
    block = table.values.get("block")
    if block is None:
        return None
    if not (
        isinstance(block, list)
        and len(block) == 2
        and all(type(side) is int and 1 <= side <= LARGEST_BLOCK_SIDE for side in block)
    ):
        raise table.bad(f'its "block" is not two whole numbers from 1 to {LARGEST_BLOCK_SIDE}')
    return Block(block[0], block[1])


class _Reader:
    """Takes values out of a table, each checked, with errors that name the file and the key."""

    def __init__(self, file_name: str, values: dict[str, Any]) -> None:
        self._file_name = file_name
        self.values = values

    def bad(self, why: str) -> SessionError:
        return SessionError(f"{self._file_name} cannot be opened as a session", why, _REMEDY)

    def table(self, key: str) -> "_Reader":
        values = self.values.get(key)
        if not isinstance(values, dict):
            raise self.bad(f'its "{key}" is missing or not a table')
        return _Reader(self._file_name, values)

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str) or len(value) > LONGEST_TEXT or "\0" in value:
            raise self.bad(f'its "{key}" is not text')
        try:
            # JSON can write one half of a surrogate pair, which is no character and in no file's name.
            os.fsencode(value)
        except UnicodeEncodeError as error:
            raise self.bad(f'its "{key}" holds something that is no character') from error
        return value

    def choice(self, key: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.text(key, default)
        if value not in choices:
            raise self.bad(f'its "{key}" is {value[:40]!r} and not one of {", ".join(choices)}')
        return value

    def truth(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.bad(f'its "{key}" is neither true nor false')
        return value

    def number(self, key: str, default: float) -> float:
        value = self.values.get(key, default)
        try:
            number = float(value) if type(value) in (int, float) else math.nan
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.bad(f'its "{key}" is not a finite number')
        return number
