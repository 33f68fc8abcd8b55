"""Python's and Qt's idea of who owns a widget: where they differ, Python takes living objects for deleted."""

import re

import shiboken6
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QWidget

from gui.shell.pages import PAGES


def owner(widget):
    """Return the address of the owner that Python knows, or None."""
    found = re.search(r"parent\W+.* at (0x[0-9a-f]+)>", shiboken6.dump(widget))
    return int(found[1], 16) if found else None


def test_that_python_gives_no_widget_another_owner_than_qt_does(haloscope, qtbot):
    for page in PAGES:
        haloscope.window.show_page(page.key)
        haloscope.window.activateWindow()
        for _ in range(20):
            focus = QApplication.focusWidget()
            if focus is not None:
                qtbot.keyClick(focus, Qt.Key.Key_Tab)
    haloscope.window.show_page("explore")
    haloscope.window.page.workspace.choose("median")
    haloscope.window.page.run()
    haloscope.pictures.open_sample("camera")
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    widgets = {id(widget): widget for widget in haloscope.window.findChildren(QWidget)}
    strange = []
    for widget in widgets.values():
        found = owner(widget)
        if found in widgets and not widgets[found].isAncestorOf(widget):
            strange.append((widgets[found], widget))
    assert strange == []
