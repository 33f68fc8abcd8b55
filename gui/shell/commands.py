"""Every command of the window as one list: actions, what the page offers besides, its panels. No widgets."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gui.page.actions import Actions
from gui.page.contract import Page
from gui.page.panels import Panel
from gui.shell.fuzzy import fit


@dataclass(frozen=True, slots=True)
class Command:
    """What can be chosen in the command palette."""

    key: str  # never changes: the recent ones are kept by it
    title: str
    where: str  # its menu
    keys: str  # its shortcut, as the system writes it
    tip: str
    why_not: str  # why it cannot be chosen now; empty if it can
    run: Callable[[], object]


def commands_of(actions: Actions, page: Page) -> list[Command]:
    """Return every command there is while a page is shown."""
    found = [_of_action(actions, name) for name in actions.names() if name != "palette"]
    for action in page.palette_actions:
        title, where = _plain(action.text()), str(action.data() or "")
        why_not = "" if action.isEnabled() else "Not available now."
        found.append(Command(f"{where}:{title}", title, where, "", action.toolTip(), why_not, action.trigger))
    for panel in page.panels:
        name, title = panel.objectName(), panel.windowTitle()
        show = partial(page.bring_to_front, name)
        found.append(Command(f"panel:{name}", title, "Panel", "", shown_words(panel), "", show))
    return found


def shown_words(panel: Panel) -> str:
    """Return what it does to choose a panel."""
    return f"Bring the panel {panel.windowTitle()} to the front."


def found_by(typed: str, commands: Sequence[Command], recent: Sequence[str]) -> list[Command]:
    """Return the commands that a typed text fits, best first; of those that fit alike the recent first.

    Of all, where nothing is typed: the recent ones, then what can be chosen, then the rest.
    """
    ranks = {key: rank for rank, key in enumerate(recent)}
    fits = [(-_fit_of(typed, one), number, one) for number, one in enumerate(commands)]
    if not typed.strip():
        fits = [(0.0, number, one) for _, number, one in fits]
        fits.sort(key=lambda one: (ranks.get(one[2].key, len(ranks)), bool(one[2].why_not), one[1]))
        return [one for _, _, one in fits]
    # Whole points are kinds of fits, the rest prefers short titles.
    chosen = [one for one in fits if one[0]]
    chosen.sort(key=lambda one: (round(one[0]), ranks.get(one[2].key, len(ranks)), one[0], one[1]))
    return [one for _, _, one in chosen]


def _fit_of(typed: str, command: Command) -> float:
    """Return how well a text fits title and menu, or else words of its tooltip: "blur" finds a Gaussian."""
    if found := fit(typed, f"{command.title} {command.where}"):
        return found
    words = re.findall(r"\w+", command.tip.casefold())
    is_said = all(any(word.startswith(part) for word in words) for part in typed.casefold().split())
    return 0.5 if is_said else 0.0


def _of_action(actions: Actions, name: str) -> Command:
    action, entry = actions[name], actions.entry(name)
    menu, inner = _plain(entry.menu), _plain(entry.submenu)
    where = f"{menu} > {inner}" if inner else menu
    keys = action.shortcut().toString(action.shortcut().SequenceFormat.NativeText)
    title = _plain(action.text())
    if action.isCheckable() and action.isChecked():
        title = f"{title} (on)"
    return Command(name, title, where, keys, action.toolTip(), actions.why_not(name), action.trigger)


def _plain(text: str) -> str:
    return text.replace("&", "").rstrip("…")
