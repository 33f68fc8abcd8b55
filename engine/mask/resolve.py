"""The value of `--mask`: a preset, a generator's spelling, a file, or the weights themselves."""

import os
from contextlib import suppress

from engine.errors import MaskError, UnknownName
from engine.mask.generators import generate, misspelt_generator
from engine.mask.mask import Mask
from engine.mask.typed import quoted

# What can only be meant as a file begins so, or has the suffix of one.
_FOLDERS = ("./", "../", "/", "~", ".\\", "..\\")


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
    generated = generate(spec)
    if generated is not None:
        return generated
    from engine.mask.presets import preset

    with suppress(UnknownName):
        return preset(spec)
    # What reads text takes 3 ms to import, a third of all that is imported for a preset.
    from engine.mask.text import SUFFIXES, load_mask, parse_mask

    if os.path.exists(spec):
        return load_mask(spec)
    if spec.startswith(_FOLDERS) or spec.lower().endswith(SUFFIXES):
        raise MaskError(
            f"{quoted(spec)} cannot be opened", "there is no such file", "Check the name and the folder."
        )
    try:
        return parse_mask(spec)
    except MaskError as error:
        if _begins_like_weights(spec):
            raise
        what = f"Unknown mask {quoted(spec)}"
        if meant := did_you_mean(spec):
            raise MaskError(what, remedy=f"{meant}`masks` lists the presets.") from error
        raise MaskError(
            what,
            "no preset has a name like that, there is no such file, and read as weights: "
            f"{error.what}, {error.why}",
            "Give a preset (`masks` lists them), a file, or weights such as '1 0 -1; 2 0 -2; 1 0 -1'.",
        ) from error


def did_you_mean(spec: str) -> str:
    """Return "Did you mean sobel-x? " for a name like that of a generator or a preset, else an empty text."""
    # Only an error needs it.
    from engine.mask.presets import closest_preset

    meant = misspelt_generator(spec) or closest_preset(spec)
    return f"Did you mean {meant}? " if meant else ""


def _begins_like_weights(spec: str) -> bool:
    """Return whether a text begins as weights do, and not as a preset or a file."""
    first_word = spec.split(maxsplit=1)[0].lower() if spec.strip() else ""
    return first_word.startswith(tuple("0123456789+-.[{(")) or first_word in ("nan", "inf", "infinity")
