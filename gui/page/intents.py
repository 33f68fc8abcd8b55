"""Intents: what a part of the window wants of the page that can do it. Pages do not know one another."""

from dataclasses import dataclass

from engine.course.paper import Configuration
from gui.engine_link.engine_start import FirstPicture


@dataclass(frozen=True, slots=True)
class LoadKernel:
    """A paper's kernel is to be set up where it can be run; `name` is what the paper calls it."""

    name: str
    here: Configuration


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """Files were dropped on the window."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """What the window is opened with; settings that are not empty override those of the session."""

    first: FirstPicture | None = None  # requested before there was a window
    session: str = ""  # a file
    mask: str = ""
    variant: str = ""
    device: str = ""
    border: str = ""
    flip: bool = False
    output: str = ""  # a file that will be written, and must not be the session's picture


Intent = LoadKernel | OpenFiles | Begin
