"""The ready masks of `assets/masks/presets.json`, in teaching order.

The file is read when the first preset is needed. Each entry has a key, a title, a group, one sentence that
teaches, and either weights (whole numbers with a divisor, as textbooks write them) or a generator's spelling
and the rows and columns that it makes. No NumPy until a mask is made: it takes longer to load
than all else of the command `masks`.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import UnknownName, closest
from engine.files.reading import ASSETS, MOST_ASSET_BYTES, faults_of_asset, read_json

if TYPE_CHECKING:
    from engine.mask.mask import Mask

PRESETS_FILE = ASSETS / "masks" / "presets.json"


class Preset(NamedTuple):
    """A ready mask and its texts.

    `key` is the stable name in commands and files, such as `sobel-x`, `title` the name in lists and of the
    mask, `group` the heading above it; `teaches` is a sentence on what it does and what to look at.
    """

    key: str
    title: str
    group: str
    teaches: str
    mask: "Mask"


@cache
def presets() -> tuple[Preset, ...]:
    """Return all presets in their order; raises EngineError where their file is missing or damaged."""
    with faults_of_asset(PRESETS_FILE, "The list of masks"):
        made, found = import_module("engine.mask.json_form").mask_from_values, []
        for entry in read_json(PRESETS_FILE, MOST_ASSET_BYTES)["presets"]:
            key, title, group, teaches = (str(entry[name]) for name in Preset._fields[:4])
            found.append(Preset(key, title, group, teaches, made(entry, title)))
        return tuple(found)


def preset_texts() -> list[tuple[str, ...]]:
    """Return key, rows x columns, group, title and `teaches` of each preset, for lists; errors as above."""
    with faults_of_asset(PRESETS_FILE, "The list of masks"):
        found = []
        for entry in read_json(PRESETS_FILE, MOST_ASSET_BYTES)["presets"]:
            # As stated where a generator makes the weights.
            weights = entry.get("weights")
            rows, columns = (len(weights), len(weights[0])) if weights else entry["size"]
            texts = (str(entry[name]) for name in ("group", "title", "teaches"))
            found.append((str(entry["key"]), f"{rows} × {columns}", *texts))
        return found


def preset_names() -> tuple[str, ...]:
    """Return the keys of all presets in their order."""
    return tuple(entry.key for entry in presets())


def preset(key: str) -> "Mask":
    """Return the mask of a preset.

    Capitals in the key do not matter, and blanks or underscores may replace its hyphens.

    Raises
    ------
    UnknownName
        There is no preset of that key; the error names the closest.
    """
    if not isinstance(key, str):
        raise UnknownName(f"preset {key!r}", "a preset is named by text", "List them: engine.preset_names().")
    wanted = "-".join(key.lower().replace("_", " ").split())
    by_key = {entry.key: entry.mask for entry in presets()}
    if wanted in by_key:
        return by_key[wanted]
    shown = key if len(key) <= 40 else f"{key[:39]}…"
    close = closest_preset(key)
    why = f"the closest is {close}" if close else "no name is close to it"
    raise UnknownName(f"No preset is called {shown!r}", why, "List them with `python main.py masks`.")


def closest_preset(key: str) -> str | None:
    """Return the key that a misspelt one was probably meant to be, or None."""
    return closest("-".join(key.lower().replace("_", " ").split()), preset_names())
