from PySide6.QtGui import QAction, QKeySequence

from gui.shell.crash_log import log_path
from gui.shell.help import about_html, shortcuts_html


def test_that_about_names_the_version_the_packages_and_the_log():
    words = about_html()
    assert "Haloscope 0." in words
    assert "numpy 2." in words
    assert str(log_path()) in words


def test_that_the_list_of_keys_leaves_out_what_has_none(qapp):
    run, other = QAction("&Run…"), QAction("Other")
    run.setShortcut(QKeySequence("Ctrl+R"))
    words = shortcuts_html([run, other])
    assert "Ctrl+R" in words
    assert ">Run<" in words
    assert "Other" not in words
