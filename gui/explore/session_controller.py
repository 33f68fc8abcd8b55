"""Sessions: save the state of the workspace, and restore it."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject

from engine.errors import EngineError
from engine.files.output_checks import check_other_file
from engine.geometry.border import Border
from engine.mask.resolve import resolve_mask
from gui.explore.picture.picture_controller import PictureController
from gui.explore.session_file import Session, load_session, save_session
from gui.explore.workspace import Workspace
from gui.page.intents import Begin
from gui.page.messages import Message, Messages, Severity

SOURCE = "session"


class SessionController(QObject):
    """Saves and opens sessions."""

    def __init__(self, workspace: Workspace, pictures: PictureController, messages: Messages) -> None:
        super().__init__()
        self._workspace = workspace
        self._pictures = pictures
        self._messages = messages

    def save(self, path: Path) -> None:
        """Write the session as it is now."""
        picture = self._workspace.picture
        session = Session(
            picture_path=picture.path if picture else "",
            sample=picture.sample if picture else "",
            mask=self._workspace.mask,
            settings=self._workspace.settings,
        )
        try:
            save_session(path, session)
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
        else:
            self._messages.show(Message(SOURCE, Severity.INFO, f"Session saved as {path}"))

    def open(self, path: Path) -> None:
        """Read a session and show it; without its picture, which is reported, show mask and settings."""
        try:
            session = load_session(path)
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
        else:
            self._messages.clear(SOURCE)
            self.take_up(session)

    def begin(self, begin: Begin) -> None:
        """Show the session that the window is opened with, with the settings that override its own.

        Raises
        ------
        EngineError
            The session, the mask or the border is not as it should be, or its picture would be overwritten.
        """
        workspace = self._workspace
        if not begin.session:
            self.apply(with_options(Session("", "", workspace.mask, workspace.settings), begin))
            return
        # The settings are put into the session, because it is shown only when its picture is there.
        session = with_options(load_session(Path(begin.session)), begin)
        if begin.first is not None:
            self.apply(session)
            return
        if begin.output:
            check_other_file(begin.output, session.picture_path)
        self.take_up(session)

    def take_up(self, session: Session) -> None:
        """Show a session: its picture, then its mask and settings."""
        if session.picture_path:
            self._pictures.open_path(Path(session.picture_path), lambda _: self.apply(session))
        elif session.sample:
            self._pictures.open_sample(session.sample, lambda _: self.apply(session))
        else:
            self.apply(session)

    def apply(self, session: Session) -> None:
        """Set mask and settings; the mask as one step that can be undone."""
        settings = session.settings
        self._workspace.set_mask(session.mask, "Open session")
        self._workspace.change(**{field.name: getattr(settings, field.name) for field in fields(settings)})


def with_options(session: Session, begin: Begin) -> Session:
    """Return a session with the settings that override its own."""
    named: dict[str, Any] = {
        "variant": begin.variant,
        "device": begin.device,
        "border": begin.border and Border.named(begin.border),
        "flip": begin.flip,
    }
    changes = {name: value for name, value in named.items() if value}
    mask = resolve_mask(begin.mask) if begin.mask else session.mask
    return replace(session, mask=mask, settings=replace(session.settings, **changes))
