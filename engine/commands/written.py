"""Writing the files of a measurement: what took minutes to measure is not lost with the disk of one file."""

from collections.abc import Callable, Mapping

from engine.errors import FileWriteError
from engine.files.atomic_write import atomic_write


def write_each(texts: Mapping[str, Callable[[], str]]) -> list[FileWriteError]:
    """Write every file that can be written, each as soon as its text is made; return why the others cannot."""
    errors = []
    for path, text in texts.items():
        try:
            atomic_write(path, text().encode())
        except FileWriteError as error:
            errors.append(error)
    return errors
