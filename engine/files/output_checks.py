"""Checks of an output path before the work: a long run must not end with a file that cannot be written."""

import os
import tempfile

from engine.errors import BadValue
from engine.files.atomic_write import path_text, writable_target, write_errors


def check_place(path: str) -> None:
    """Refuse a path where no file can be written now; nothing is left there.

    Raises FileWriteError: the folder does not exist or cannot be written, or the path is a folder, a device
    or a protected file.
    """
    # Permissions alone do not show that a disk is read-only.
    with write_errors(path), tempfile.TemporaryFile(dir=writable_target(path).parent):
        pass


def make_folder(folder: str, *, with_parents: bool = False) -> None:
    """Make a folder, if needed, in one that exists, or with those around it; raises FileWriteError."""
    with write_errors(path_text(folder)):
        if with_parents:
            os.makedirs(folder, exist_ok=True)
        elif not os.path.isdir(folder):
            os.mkdir(folder)


def check_other_file(
    output: str, source: str, remedy: str = "Give the result another name.", *, what: str = "picture"
) -> None:
    """Raise BadValue instead of writing a result over its own picture, under any name.

    `what` says in the error what the source is where it is no picture.
    """
    try:
        is_same = os.path.samefile(output, source)
    except (OSError, ValueError):
        # One of them is not there; opening it says so.
        is_same = False
    if is_same:
        raise BadValue(f"{output} is the {what} itself", "its result would replace it", remedy)
