"""The ready masks of `assets/masks/presets.json`: data, in the order in which people meet them.

The file is read when the first preset is asked for. Each entry has a key, a title, a group, one sentence that
teaches, and either weights (whole numbers with a divisor, as textbooks write them) or a generator's spelling.
"""

import difflib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.errors import BadValue, EngineError, UnknownName
from engine.mask.generators import generate
from engine.mask.json_form import mask_from_values, read_object
from engine.mask.mask import Mask

PRESETS_FILE = Path(__file__).resolve().parents[2] / "assets" / "masks" / "presets.json"


@dataclass(frozen=True)
class Preset:
    """A ready mask and what people read about it.

    Attributes
    ----------
    key : str
        The stable name in commands and files, such as `sobel-x`.
    title : str
        The name in lists; also the name of the mask.
    group : str
        The heading under which it is listed.
    teaches : str
        One sentence: what it does and what to look at.
    mask : Mask
        The mask itself.
    divisor : float
        By what the written whole numbers are divided; 1 when they stand as they are.
    """

    key: str
    title: str
    group: str
    teaches: str
    mask: Mask
    divisor: float


@cache
def presets() -> tuple[Preset, ...]:
    """Return all presets in their order.

    Raises
    ------
    EngineError
        The file that came with the program is missing or damaged.
    """
    try:
        document = read_object(PRESETS_FILE.read_text(encoding="utf-8"))
        return tuple(_preset(entry) for entry in document["presets"])
    except (OSError, ValueError, LookupError, TypeError, EngineError) as error:
        raise EngineError(
            f"The list of masks {PRESETS_FILE.name!r} cannot be read",
            str(error),
            "Install the program again: this file came with it.",
        ) from error


def preset_names() -> tuple[str, ...]:
    """Return the keys of all presets in their order."""
    return tuple(entry.key for entry in presets())


def find_preset(key: str) -> Preset:
    """Return the preset of a key, whatever its capitals, with blanks or underscores for its hyphens.

    Raises
    ------
    UnknownName
        There is none; the error names the closest.
    """
    if not isinstance(key, str):
        raise UnknownName(
            f"preset {key!r}", "a preset is named by text", "`engine.preset_names()` lists them."
        )
    wanted = "-".join(key.lower().replace("_", " ").split())
    by_key = {entry.key: entry for entry in presets()}
    if wanted in by_key:
        return by_key[wanted]
    shown = key if len(key) <= 40 else f"{key[:39]}…"
    # Longer texts are weights, not misspelt names, and comparing them would take time.
    close = difflib.get_close_matches(wanted, by_key, n=1, cutoff=0.6) if len(wanted) <= 40 else []
    why = f"the closest is {close[0]}" if close else "no name is close to it"
    raise UnknownName(f"No preset is called {shown!r}", why, "List them with `python main.py masks`.")


def preset(key: str) -> Mask:
    """Return the mask of a preset.

    Raises
    ------
    UnknownName
        There is no preset of that key; the error names the closest.
    """
    return find_preset(key).mask


def _preset(entry: dict[str, Any]) -> Preset:
    title = str(entry["title"])
    if "generate" in entry:
        mask = generate(entry["generate"])
        if mask is None:
            raise BadValue(f"{entry['generate']!r} is no generator", "", "")
        mask = mask.with_name(title)
    else:
        mask = mask_from_values(entry, title)
    return Preset(
        str(entry["key"]),
        title,
        str(entry["group"]),
        str(entry["teaches"]),
        mask,
        float(entry.get("divisor", 1)),
    )
