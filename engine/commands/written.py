"""Writing the files of a measurement: what took minutes to measure is not lost with the disk of one file."""

from collections.abc import Mapping

from engine.errors import FileWriteError
from engine.files import atomic_write


def write_each(contents: Mapping[str, str]) -> list[FileWriteError]:
    """Write every file that can be written, and return why the others cannot."""
    errors = []
    for path, text in contents.items():
        try:
            atomic_write(path, text.encode())
        except FileWriteError as error:
            errors.append(error)
    return errors
