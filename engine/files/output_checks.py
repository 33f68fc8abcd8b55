"""Looking at a place before the work: a long run must not end with a file that cannot be written."""

import os
import tempfile
from pathlib import Path

from engine.errors import BadValue, FileWriteError

_ANOTHER = "Choose another folder or name."


def check_place(path: str) -> None:
    """Refuse a path where no file can be written now; nothing is left there.

    Raises
    ------
    FileWriteError
        The folder does not exist or cannot be written, or the path is a folder, a device or a protected file.
    """
    what = f"{path} cannot be written"
    try:
        target = Path(os.path.realpath(path))
        if not os.path.basename(path) or target.is_dir():
            raise FileWriteError(what, "it is a folder", "Add a file name.")
        if target.is_symlink():
            raise FileWriteError(what, "it is a loop of symbolic links", _ANOTHER)
        if target.exists() and not target.is_file():
            raise FileWriteError(what, "it is a device, not a file", _ANOTHER)
        if target.exists() and not os.access(target, os.W_OK):
            raise FileWriteError(what, "the file is write-protected", _ANOTHER)
        if not target.parent.exists():
            raise FileWriteError(
                what, "its folder does not exist", "Create the folder first, or choose another one."
            )
        if not target.parent.is_dir():
            raise FileWriteError(what, "part of its path is a file, not a folder", _ANOTHER)
        # Permissions alone do not tell of a disk that can only be read.
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except PermissionError as error:
        raise FileWriteError(
            what, "you may not write in that folder", "Choose another folder or change its permissions."
        ) from error
    except OSError as error:
        raise FileWriteError(what, (error.strerror or str(error)).lower(), _ANOTHER) from error
    except ValueError as error:  # a NUL in the path
        raise FileWriteError(f"{path!r} cannot be written", "it is not a possible path", _ANOTHER) from error


def check_other_file(output: str, source: str) -> None:
    """Refuse to write a result over its own picture, under whatever name.

    Raises
    ------
    BadValue
    """
    try:
        is_same = os.path.samefile(output, source)
    except (OSError, ValueError):
        # One of them is not there, which is told by whoever opens it.
        is_same = False
    if is_same:
        raise BadValue(
            f"{output} is the picture itself",
            "its result would replace it",
            "Give the result another name, or --overwrite to lose the picture.",
        )
