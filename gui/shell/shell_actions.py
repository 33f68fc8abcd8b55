"""The actions of the main window; pages bring their own."""

from gui.engine_link.recorded_button import RECORDED_TIP
from gui.page.actions import Entry
from gui.page.contract import PageEntry
from gui.runs.panel import CSV_TIP, JSON_TIP

ENTRIES: tuple[Entry, ...] = (
    Entry("reopen_last", "Reopen &last", "Open the file that was open last, beside the one that is shown.",
          "Ctrl+Shift+T", "open", "&File", 15),
    Entry("export_csv", "Save results as &CSV…", CSV_TIP, "Ctrl+E", "export", "&File", 40),
    Entry("export_json", "Save results as &JSON…", JSON_TIP, "Ctrl+Shift+E", "export", "&File", 40),
    Entry("copy_results", "&Copy results", "Copy the table of this page, to paste it into a spreadsheet.",
          "Ctrl+Shift+C", "copy", "&Edit", 30),
    Entry("clear_results", "C&lear results", "Forget the runs of this page; Undo brings them back.",
          "Ctrl+Shift+Del", "clear", "&Edit", 30),
    Entry("run", "&Run", "Run what this page shows.", "Ctrl+R F5", "run", "&Run"),
    Entry("run_all", "Run &all", "Run everything that can be run on this page.", "Ctrl+Shift+R", "run-all",
          "&Run"),
    Entry("cancel", "&Cancel", "Stop the current run. Finished results are kept.", "Esc",
          "cancel", "&Run", 20),
    Entry("retry_gpu", "Try the &GPU again", "Retry the GPU after repeated errors disabled it.",
          "Ctrl+Shift+G", "retry", "&Run", 30),
    Entry("show_recorded", "Recorded &GPU", RECORDED_TIP, "Ctrl+G", "device", "&View", 60),
    Entry("reset_layout", "&Default layout", "Restore the default positions of all panels on this page.",
          "Ctrl+Shift+L", "layout", "&View", 85),
    Entry("hide_panels", "&Hide panels", "Leave the page to its picture; once more brings the panels back.",
          "F12", "arrow-expand-all", "&View", 85),
    Entry("full_screen", "F&ull screen", "Fill the screen with the window, and back.", "F11", "fullscreen",
          "&View", 85),
    Entry("preferences", "Pre&ferences…", "Theme, size of the letters, and the keys of all commands.",
          "Ctrl+,", "settings", "&Edit", 90),
    Entry("palette", "Command &palette…", "Find any command by words of its name.", "Ctrl+Shift+P",
          "magnify", "&Help"),
    Entry("panel_help", "&Help for this panel", "Explain the panel that has the focus.", "F1", "help",
          "&Help"),
    Entry("documentation", "&Documentation", "How to use Haloscope, the words used here, and every"
          " document.", "Ctrl+F1", "help", "&Help"),
    Entry("shortcuts", "&Keyboard shortcuts", "Every action with its keys; they can be changed.", "Shift+F1",
          "keyboard", "&Help"),
    Entry("about", "&About Haloscope…", "What this is, and what a report of a problem needs: versions to"
          " copy, and the crash log.", "Ctrl+Shift+F1", "about", "&Help", 90),
    Entry("quit", "&Quit", "Close the window. Its layout is kept.", "Ctrl+Q Ctrl+W", "quit", "&File", 90),
)  # fmt: skip
UNDO = Entry("undo", "&Undo", "Undo the last edit on this page.", "Ctrl+Z", "undo", "&Edit", 10)
REDO = Entry("redo", "&Redo", "Redo the last undone edit.", "Ctrl+Shift+Z Ctrl+Y", "redo", "&Edit", 10)
_THEME_TIPS = {"light": "Light theme.", "dark": "Dark theme.", "system": "Follow the desktop."}


def theme_entries() -> list[Entry]:
    """Return a choice for each theme."""
    return [
        Entry(f"theme:{name}", name.capitalize(), tip, menu="&View", section=70, submenu="&Theme", data=name)
        for name, tip in _THEME_TIPS.items()
    ]


def page_entries(pages: list[PageEntry]) -> list[Entry]:
    """Return a choice for each page."""
    return [
        Entry(f"page:{page.key}", page.title, page.tip, f"Alt+{number} {page.keys}", page.icon,
              "&View", 70, "Pag&es", page.key)
        for number, page in enumerate(pages, start=1)
    ]  # fmt: skip
