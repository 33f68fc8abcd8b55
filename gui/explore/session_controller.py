"""Sessions: save what the workspace says, and take it up again."""

from dataclasses import fields
from pathlib import Path

from PySide6.QtCore import QObject

from engine.errors import EngineError
from gui.explore.picture.picture_controller import PictureController
from gui.explore.session_file import Session, load_session, save_session
from gui.explore.workspace import Workspace
from gui.page.messages import Message, Messages, Severity

SOURCE = "session"


class SessionController(QObject):
    """Saves and opens sessions."""

    def __init__(
        self,
        workspace: Workspace,
        pictures: PictureController,
        messages: Messages,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
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

    def open(self, path: Path, keep_picture: bool = False) -> None:
        """Read a session and take it up; a picture that is gone is told, and mask and settings are taken up alone.

        With `keep_picture` the picture that is there stays, and only mask and settings are taken up.
        """
        try:
            session = load_session(path)
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
            return
        self._messages.clear(SOURCE)
        if keep_picture:
            self.apply(session)
        else:
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
        """Take up mask and settings; the mask as one step that can be undone."""
        settings = session.settings
        self._workspace.set_mask(session.mask, "Open session")
        self._workspace.change(**{field.name: getattr(settings, field.name) for field in fields(settings)})
