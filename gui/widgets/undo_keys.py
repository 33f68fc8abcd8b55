"""Ctrl+Z in a field: while a text is being typed it is the field's, else the window's undo."""

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence


def belongs_to_window(event: QEvent, *, is_typing: bool) -> bool:
    """Return whether the keys of undo or redo are to be left to the window's shortcuts.

    Qt asks the field first (ShortcutOverride), and a field takes them also where it has nothing to undo.
    """
    if is_typing or event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    return event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)
