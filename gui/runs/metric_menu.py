"""A menu of numbers and facts: eight common ones, the others in groups beside them."""

from collections.abc import Callable, Iterable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from engine.results.columns import KERNEL, SPEED_UP, Column

_GROUPS = (
    ("Durations", ("kernel_", "end_to_end_", "compile_", "allocate_", "host_to_device_", "device_to_host_")),
    ("Rates and limits", ("bandwidth_", "compulsory_", "counted_", "gflops", "share_of_", "samples")),
    ("Launch", ("registers_", "shared_bytes", "local_bytes", "occupancy", "waves", "halo_", "idle_")),
    ("Operations and loads", ("model_", "transactions_")),
    ("Proof", ("proof", "max_error", "error_bound")),
    (
        "Problem and machine",
        ("picture", "mask", "border", "block", "layout", "device", "operation"),
    ),
)
_OTHERS = "More"

COMMON_NUMBERS = (
    KERNEL,
    "end_to_end_median_ms",
    SPEED_UP,
    "max_error",
    "gflops",
    "model_cgma_flop_per_load",
    "model_intensity_flop_per_byte",
    "occupancy",
)
COMMON_COLUMNS = (KERNEL, SPEED_UP, "proof", "block", "mask", "picture", "border", "device")


def fill_metric_menu(
    menu: QMenu, entries: Iterable[Column], common: Iterable[str], dress: Callable[[QAction, Column], None]
) -> None:
    """Write entries into a menu, each as `dress` makes its action; the common ones stand first."""
    by_key = {entry.key: entry for entry in entries}
    for key in common:
        if key in by_key:
            dress(menu.addAction(by_key[key].header), by_key.pop(key))
    menu.addSeparator()
    groups: dict[str, list[Column]] = {title: [] for title in (*(title for title, _ in _GROUPS), _OTHERS)}
    for entry in by_key.values():
        found = (title for title, beginnings in _GROUPS if entry.key.startswith(beginnings))
        groups[next(found, _OTHERS)].append(entry)
    for title, group in groups.items():
        if group:
            submenu = menu.addMenu(title)
            submenu.setToolTipsVisible(True)
            for entry in group:
                dress(submenu.addAction(entry.header), entry)


def all_actions(menu: QMenu) -> list[QAction]:
    """Return the actions of a menu and of the menus in it, without those that only open one."""
    found = []
    for action in menu.actions():
        inner = action.menu()
        found += all_actions(inner) if isinstance(inner, QMenu) else [action]
    return found
