"""The actions of the main window; pages bring their own."""

from PySide6.QtCore import QObject

from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.actions import Actions, Entry
from gui.page.contract import PageEntry, PageStatus
from gui.widgets.runs_panel import CSV_TIP, JSON_TIP

ENTRIES: tuple[Entry, ...] = (
    Entry("export_csv", "Save results as &CSV…", CSV_TIP, "Ctrl+E", "export", "&File", 40),
    Entry("export_json", "Save results as &JSON…", JSON_TIP, "Ctrl+Shift+E", "export", "&File", 40),
    Entry("run", "&Run", "Run what this page shows.", "Ctrl+R F5", "run", "&Run"),
    Entry("run_all", "Run &all", "Run everything that can be run on this page.", "Ctrl+Shift+R", "run-all",
          "&Run"),
    Entry("cancel", "&Cancel", "Stop the current run. Finished results are kept.", "Esc",
          "cancel", "&Run", 20),
    Entry("retry_gpu", "Try the &GPU again", "Retry the GPU after repeated errors disabled it.",
          "Ctrl+Shift+G", "retry", "&Run", 30),
    Entry("reset_layout", "&Default layout", "Restore the default positions of all panels on this page.",
          "Ctrl+Shift+L", "layout", "&View", 90),
    Entry("documentation", "&How to use Haloscope", "The main job in six steps, and the words used here.",
          "Shift+F1", "help", "&Help"),
    Entry("shortcuts", "&Keyboard shortcuts", "List every action with its keys.", "F1", "keyboard", "&Help"),
    Entry("about", "&About Haloscope", "What this is, its version and where its crash log is.",
          "Ctrl+Shift+F1", "about", "&Help", 90),
    Entry("quit", "&Quit", "Close the window. Its layout is kept.", "Ctrl+Q", "quit", "&File", 90),
)  # fmt: skip
_THEME_TIPS = {"light": "Light theme.", "dark": "Dark theme.", "system": "Follow the desktop."}


def theme_entries() -> list[Entry]:
    """Return a choice for each theme."""
    return [
        Entry(f"theme:{name}", name.capitalize(), tip, menu="&View", section=80, submenu="&Theme", data=name)
        for name, tip in _THEME_TIPS.items()
    ]


def page_entries(pages: list[PageEntry]) -> list[Entry]:
    """Return a choice for each page."""
    return [
        Entry(f"page:{page.key}", page.title, page.tip, f"Alt+{number} {page.keys}", page.icon,
              "&View", 70, "Pa&ges", page.key)
        for number, page in enumerate(pages, start=1)
    ]  # fmt: skip


class RunActions(QObject):
    """Enables and explains Run, Run all, Cancel, Try the GPU again, and saving the results."""

    def __init__(self, actions: Actions, state: EngineState, link: EngineLink) -> None:
        super().__init__(actions)
        self._actions = actions
        self._state = state
        self._link = link
        self._status = PageStatus()
        for signal in (state.ready_changed, state.running_changed, state.progress_changed, link.lost):
            signal.connect(self._refresh)

    def show_page(self, status: PageStatus) -> None:
        """Follow the status of the visible page."""
        self._status = status
        self._refresh()

    def _refresh(self) -> None:
        state, actions = self._state, self._actions
        for name, does in (("run", self._status.run_does), ("run_all", self._status.run_all_does)):
            why_not = self._status.why_no_run or state.why_no_run if does else "Not available on this page."
            actions[name].setEnabled(not why_not)
            actions.explain(name, f"{does} {why_not}".strip())
        for name in ("export_csv", "export_json"):
            actions[name].setEnabled(self._status.has_results)
            actions.explain(name, "" if self._status.has_results else "There are no results on this page.")
        actions["cancel"].setEnabled((state.running or state.slow) and not state.cancelling)
        actions["retry_gpu"].setEnabled(not self._link.uses_cuda)
