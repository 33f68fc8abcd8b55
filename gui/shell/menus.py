"""The menus: where each action stands. Nothing is done here."""

from PySide6.QtWidgets import QMenu, QMenuBar

from gui.page.actions import Actions

_SEPARATOR = ""
_MENUS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "&File",
        (
            "open",
            "samples",
            "save",
            _SEPARATOR,
            "open_session",
            "save_session",
            _SEPARATOR,
            "load_mask",
            "save_mask",
            _SEPARATOR,
            "export_csv",
            "export_json",
            _SEPARATOR,
            "quit",
        ),
    ),
    ("&Edit", ("undo", "redo", _SEPARATOR, "copy_results", "clear_results")),
    (
        "&View",
        (
            "zoom_fit",
            "zoom_actual",
            "zoom_in",
            "zoom_out",
            _SEPARATOR,
            "range_modes",
            _SEPARATOR,
            "themes",
            "panels",
            "reset_layout",
        ),
    ),
    ("&Run", ("run", "run_all", "multiply", "cancel", _SEPARATOR, "retry_gpu")),
    ("&Help", ("documentation", "course", "shortcuts", _SEPARATOR, "about")),
)


def fill_menu_bar(bar: QMenuBar, actions: Actions, panels: QMenu) -> None:
    """Put the actions into menus; the entries of the menu `panels` follow the page that is shown."""
    submenus = {
        "samples": ("Open sam&ple", actions.samples),
        "range_modes": ("Values outside the &range", actions.range_modes.actions()),
        "themes": ("&Theme", actions.themes.actions()),
    }
    for title, names in _MENUS:
        menu = bar.addMenu(title)
        menu.setToolTipsVisible(True)
        for name in names:
            if name == _SEPARATOR:
                menu.addSeparator()
            elif name in submenus:
                text, entries = submenus[name]
                submenu = menu.addMenu(text)
                submenu.setToolTipsVisible(True)
                submenu.addActions(entries)
            elif name == "panels":
                menu.addMenu(panels)
            else:
                menu.addAction(actions[name])
