"""Modules that a panel needs are imported on a thread, before somebody looks at the panel."""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module

from PySide6.QtCore import QObject

from engine.garbage import no_collection
from gui.page.background import Background


class Imports(QObject):
    """Imports one module after the other: what somebody waits for, then, once begun, what was announced.

    All panels and pages take half a second of the processor, pyqtgraph alone 0.15 s of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._thread = Background(self)
        self._announced: dict[str, None] = {}
        self._wanted: dict[str, list[Callable[[], None]]] = {}
        self._imported = ""
        self._has_begun = False

    def announce(self, name: str) -> None:
        """Note that a module will be needed."""
        self._announced[name] = None

    def begin(self) -> None:
        """Import what is announced: the program has nothing better to do."""
        self._has_begun = True
        self._go_on()

    def wait_for(self, name: str, then: Callable[[], None]) -> None:
        """Call `then` when a module is there: now, or once the thread has imported it."""
        # A module that is being imported is in the list too.
        if name in sys.modules and not self._imported:
            then()
        else:
            self._wanted.setdefault(name, []).append(then)
            self._go_on()

    def _go_on(self) -> None:
        if self._imported:
            return
        while self._has_begun and self._announced and next(iter(self._announced)) in sys.modules:
            del self._announced[next(iter(self._announced))]
        announced = self._announced if self._has_begun else {}
        self._imported = next(iter(self._wanted), next(iter(announced), ""))
        if name := self._imported:
            self._announced.pop(name, None)
            self._thread.do(lambda: _load(name), lambda _: self._end(name), lambda _: None)

    def _end(self, name: str) -> None:
        self._imported = ""
        waiting = self._wanted.pop(name, [])
        self._go_on()
        for then in waiting:
            then()


def _load(name: str) -> None:
    # Whoever makes the panel imports it again, and says what is wrong. A start in some 400 crashed where the
    # GUI thread collected garbage while pyqtgraph was imported; `gui.qt_import` does more against that.
    with suppress(ImportError), no_collection():
        import_module(name)


@cache
def imports() -> Imports:
    """Return the one of the program."""
    return Imports()
