"""What opens beside the window when it is asked for: palette, help, preferences."""

from PySide6.QtWidgets import QApplication, QWidget

from gui.page.actions import Actions
from gui.page.panels import Panel
from gui.shell.command_palette import CommandPalette
from gui.shell.commands import Command, commands_of
from gui.shell.document_window import DocumentWindow, open_documents
from gui.shell.documents import HOME, section_of
from gui.shell.help import about_html, shortcuts_html, show_report, show_text
from gui.shell.main_window import MainWindow
from gui.shell.preferences import PreferencesController
from gui.shell.preferences_dialog import PreferencesDialog


class Dialogs:
    """Opens them over the window; none of them blocks it."""

    def __init__(self, window: MainWindow, actions: Actions, preferences: PreferencesController) -> None:
        self._window, self._actions, self._preferences = window, actions, preferences

    def show(self, name: str) -> object:
        """Open what the action of this name asks for."""
        return getattr(self, f"_show_{name}")()

    def _show_palette(self) -> CommandPalette:
        commands = commands_of(self._actions, self._window.page)
        recent = self._preferences.preferences.recent_commands
        palette = CommandPalette(commands, recent, self._run, self._window)
        # Where the eyes are, not over the menu.
        left = self._window.x() + (self._window.width() - palette.width()) // 2
        palette.move(left, self._window.y() + self._window.height() // 8)
        palette.open()
        return palette

    def _run(self, command: Command) -> None:
        self._preferences.note_command(command.key)
        command.run()

    def _show_panel_help(self) -> DocumentWindow:
        page = self._window.page
        return open_documents(self._window, section_of(page.sections, panel_of(focused(), page)))

    def _show_documentation(self) -> DocumentWindow:
        return open_documents(self._window, HOME)

    def _show_shortcuts(self) -> object:
        title = self._actions["shortcuts"].iconText()
        return show_text(self._window, title, shortcuts_html(self._actions.all()), 560)

    def _show_about(self) -> object:
        return show_text(self._window, self._actions["about"].iconText(), about_html(), 320)

    def _show_report(self) -> object:
        return show_report(self._window)

    def _show_preferences(self) -> PreferencesDialog:
        dialog = self._window.findChild(PreferencesDialog)
        if dialog is None:
            dialog = PreferencesDialog(self._preferences, self._actions, self._window)
            dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog


def focused() -> QWidget | None:
    """Return the widget that has the focus."""
    return QApplication.focusWidget()


def panel_of(widget: QWidget | None, page: QWidget) -> str:
    """Return the name of the panel that a widget is in; that of the picture, or empty, outside of panels."""
    while widget is not None and widget is not page:
        if isinstance(widget, Panel) or widget.objectName() == "picture":
            return widget.objectName()
        widget = widget.parentWidget()
    return ""
