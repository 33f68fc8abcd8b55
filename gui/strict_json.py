"""Texts of JSON documents that may be damaged, checked before use."""

import os

LONGEST_TEXT = 4096


def text_of(value: object) -> str:
    """Return a text of a document; a ValueError says what is wrong with it: "is not text"."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or "\0" in value:
        raise ValueError("is not text")
    try:
        # JSON can write one half of a surrogate pair, which is not a character and in no file's name.
        os.fsencode(value)
    except UnicodeEncodeError as error:
        raise ValueError("holds something that is not a character") from error
    return value
