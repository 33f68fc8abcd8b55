"""The ready masks of `assets/masks/presets.json`, in teaching order, and what `--mask` names.

The file is read when the first preset is needed. Each entry has a key, a title, a group, one sentence that
teaches, and either weights (whole numbers with a divisor, as textbooks write them) or a generator's spelling
and the rows and columns that it makes.
"""

import os
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from engine.errors import MaskError, UnknownName, closest
from engine.files.reading import MOST_ASSET_BYTES, faults_of_asset, read_json
from engine.mask.generators import generate, misspelt_generator
from engine.mask.json_form import mask_from_values
from engine.mask.mask import Mask
from engine.mask.preset_texts import PRESETS_FILE
from engine.mask.typed import quoted

# What can only be meant as a file begins so, or has the suffix of one.
_FOLDERS = ("./", "../", "/", "~", ".\\", "..\\")


class Preset(NamedTuple):
    """A ready mask and its texts."""

    key: str  # stable name in commands and files, such as `sobel-x`
    title: str  # name in lists and of the mask
    group: str  # heading above it
    teaches: str  # a sentence on what it does and what to look at
    mask: Mask


@cache
def presets() -> tuple[Preset, ...]:
    """Return all presets in their order; raises EngineError where their file is missing or damaged."""
    with faults_of_asset(PRESETS_FILE, "The list of masks"):
        loaded = []
        for entry in read_json(PRESETS_FILE, MOST_ASSET_BYTES)["presets"]:
            key, title, group, teaches = (str(entry[name]) for name in Preset._fields[:4])
            loaded.append(Preset(key, title, group, teaches, mask_from_values(entry, title)))
        return tuple(loaded)


def preset_names() -> tuple[str, ...]:
    """Return the keys of all presets in their order."""
    return tuple(entry.key for entry in presets())


def preset(key: str) -> Mask:
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


def resolve_mask(spec: str) -> Mask:
    """Return the mask that a word, a file name or a text stands for, tried in this order.

    1. a generator's spelling (`gaussian:9:1.5`; `engine.mask.generator_table` has all);
    2. the key of a preset (`sobel-x`);
    3. a file that exists;
    4. the weights (`1 0 -1; 2 0 -2; 1 0 -1`).

    Raises
    ------
    MaskError
        None of them (the error names what was meant, else all readings, unless it begins like weights), or
        the file holds no mask.
    BadValue
        A generator's numbers are out of range.
    """
    # First: no key has the colon of a spelling, and to read the presets takes 5 ms.
    if (generated := generate(spec)) is not None:
        return generated
    with suppress(UnknownName):
        return preset(spec)
    # What reads text takes 3 ms to import, a third of all that is imported for a preset.
    from engine.mask.text import SUFFIXES, load_mask, parse_mask

    if os.path.exists(spec):
        return load_mask(spec)
    if spec.startswith(_FOLDERS) or spec.lower().endswith(SUFFIXES):
        what, remedy = f"{quoted(spec)} cannot be opened", "Check the name and the folder."
        raise MaskError(what, "there is no such file", remedy)
    try:
        return parse_mask(spec)
    except MaskError as error:
        first_word = spec.split(maxsplit=1)[0].lower() if spec.strip() else ""
        if first_word.startswith(tuple("0123456789+-.[{(")) or first_word in ("nan", "inf", "infinity"):
            # It begins as weights do, and not as a preset or a file.
            raise
        what = f"Unknown mask {quoted(spec)}"
        if meant := did_you_mean(spec):
            raise MaskError(what, remedy=f"{meant}`masks` lists the presets.") from error
        as_weights = f"and read as weights: {error.what}, {error.why}"
        why = f"no preset has a name like that, there is no such file, {as_weights}"
        remedy = "Give a preset (`masks` lists them), a file, or weights such as '1 0 -1; 2 0 -2; 1 0 -1'."
        raise MaskError(what, why, remedy) from error


def did_you_mean(spec: str) -> str:
    """Return "Did you mean sobel-x? " for a name like that of a generator or a preset, else an empty text."""
    meant = misspelt_generator(spec) or closest_preset(spec)
    return f"Did you mean {meant}? " if meant else ""
