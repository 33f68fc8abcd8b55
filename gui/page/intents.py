"""What one part of the window wants of whichever page can do it: the pages do not know one another."""

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
    """What the window is opened with.

    Parameters
    ----------
    first : FirstPicture, optional
        The picture that was asked for before there was a window.
    session : str
        File of a session.
    mask, variant, device, border : str
        Settings that override those of the session; empty for none.
    flip : bool
    output : str
        File that will be written, and must not be the session's picture.
    """

    first: FirstPicture | None = None
    session: str = ""
    mask: str = ""
    variant: str = ""
    device: str = ""
    border: str = ""
    flip: bool = False
    output: str = ""


Intent = LoadKernel | OpenFiles | Begin
