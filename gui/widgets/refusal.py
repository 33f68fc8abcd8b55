"""A line that says why what was typed is refused."""

from PySide6.QtWidgets import QLabel

from gui.style.theme import current_theme, theme_notifier


class Refusal(QLabel):
    """Says in the colour of errors why a text is refused; hidden while there is no reason."""

    def __init__(self) -> None:
        super().__init__(wordWrap=True)
        theme_notifier().changed.connect(self._paint)
        self._paint()
        self.say("")

    def say(self, sentence: str) -> None:
        """Show a sentence, with a capital first; none hides the label."""
        self.setText(sentence[:1].upper() + sentence[1:])
        self.setVisible(bool(sentence))

    def _paint(self) -> None:
        self.setStyleSheet(f"color: {current_theme().error}")
