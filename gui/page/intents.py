"""Intents: requests to another page. Pages do not import one another."""

from dataclasses import dataclass

from PySide6.QtCore import QMimeData

from engine.course.paper import CourseKernel
from engine.mask.mask import Mask
from gui.engine_link.engine_start import FirstPicture


@dataclass(frozen=True, slots=True)
class LoadKernel:
    """Set up a paper's kernel on the page that can run it."""

    kernel: CourseKernel


@dataclass(frozen=True, slots=True)
class LoadMask:
    """Take weights as the mask, on the page that edits masks."""

    mask: Mask


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """Files were dropped on the window."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakeContent:
    """Something that is in no file was dropped on the window: a picture, a text, an address."""

    content: QMimeData


@dataclass(frozen=True, slots=True)
class Begin:
    """Start of the window; settings that are not empty override those of the session."""

    first: FirstPicture | None = None  # requested before the window existed
    session: str = ""  # a file
    mask: str = ""
    variant: str = ""
    device: str = ""
    border: str = ""
    flip: bool = False
    output: str = ""  # a file that will be written, and must not be the session's picture


Intent = LoadKernel | LoadMask | OpenFiles | TakeContent | Begin
