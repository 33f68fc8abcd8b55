"""The checks of places that only commands need: results in two files, formats of pictures."""

import os
from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.files.output_checks import check_place
from engine.image.save import encoded_image


def check_result_files(out: str | None, csv: str | None) -> None:
    """Refuse places where the results cannot be written; None: nothing is written there.

    Raises
    ------
    FileWriteError
        As `check_place`.
    BadValue
        Both are the same file.
    """
    for path in (out, csv):
        if path:
            check_place(path)
    if out and csv and os.path.realpath(csv) == os.path.realpath(out):
        raise BadValue("--out and --csv", "they name the same file", "Give each a name of its own.")


def check_format(path: str, channels: int, dtype: np.dtype[Any], quality: int) -> None:
    """Refuse a picture file whose format does not exist or does not hold such pictures.

    One pixel of the same kind is encoded in memory, so that whatever `save_image` refuses is refused here, in its words.

    Parameters
    ----------
    path : str
    channels : int
        1 (grey) or 3 (RGB).
    dtype : numpy dtype
        uint8, uint16 or float32.
    quality : int

    Raises
    ------
    EngineError
    """
    encoded_image(np.zeros((1, 1) if channels == 1 else (1, 1, channels), dtype), path, quality=quality)
