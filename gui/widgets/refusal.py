"""A line that says why what was typed is refused."""

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel


class Refusal(QLabel):
    """Says in the colour of errors why a text is refused; hidden while there is no reason."""

    def __init__(self) -> None:
        super().__init__(wordWrap=True)
        self.setForegroundRole(QPalette.ColorRole.BrightText)
        self.say("")

    def say(self, sentence: str) -> None:
        """Show a sentence, with a capital first; none hides the label."""
        self.setText(sentence[:1].upper() + sentence[1:])
        self.setVisible(bool(sentence))
