import json
import re

import pytest
from PySide6 import QtGui, QtWidgets
from PySide6.QtCore import QMimeData, QPoint, QRect, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QGuiApplication, QKeySequence, QScreen

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.presets import preset
from gui.engine_link.engine_start import StartedEngine
from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES
from gui.shell.preferences import load_preferences
from gui.style.theme import current_theme
from gui.widgets.labels import ElidedLabel
from tests.gui.fake_engine import FakeEngineClient
from tests.gui.made_window import OpenedWindow, drop, panel_of, shown_page


def shown(window, kind):
    return [widget for widget in window.findChildren(kind) if widget.isVisible() and widget.width() > 0]


def words_of(widget):
    return widget.currentText() if isinstance(widget, QtWidgets.QComboBox) else widget.text()


def width_of_words(widget):
    """Pixels that the words need, and the icon beside them."""
    is_label = isinstance(widget, QtWidgets.QLabel)
    # One is cut with … on purpose, and whole in the tooltip.
    if isinstance(widget, ElidedLabel) or (
        is_label and (widget.wordWrap() or QtGui.Qt.mightBeRichText(widget.text()))
    ):
        return 0
    style = widget.toolButtonStyle() if isinstance(widget, QtWidgets.QToolButton) else None
    if style == Qt.ToolButtonStyle.ToolButtonIconOnly:
        return widget.iconSize().width()
    lines = words_of(widget).replace("&", "").split("\n")
    has_icon = style == Qt.ToolButtonStyle.ToolButtonTextBesideIcon and not widget.icon().isNull()
    width = max(widget.fontMetrics().horizontalAdvance(line) for line in lines)
    return width + widget.iconSize().width() if has_icon else width


def assert_no_word_is_cut(page):
    for kind in (QtWidgets.QAbstractButton, QtWidgets.QComboBox, QtWidgets.QLabel):
        for widget in shown(page, kind):
            text = words_of(widget)
            assert widget.width() >= width_of_words(widget), text
            assert widget.height() >= widget.fontMetrics().ascent() or not text, text


def assert_every_control_is_explained(page):
    for widget in (*shown(page, QtWidgets.QAbstractButton), *shown(page, QtWidgets.QComboBox)):
        text = "" if isinstance(widget, QtWidgets.QComboBox) else widget.text()
        assert widget.toolTip(), (text, widget)
        assert widget.accessibleName() or text, widget


def assert_no_letter_leads_to_two_places(window):
    labels = [label for label in shown(window, QtWidgets.QLabel) if label.buddy() is not None]
    parts = *window.menuBar().actions(), *labels, *shown(window, QtWidgets.QAbstractButton)
    letters = [found.casefold() for one in parts for found in re.findall(r"&(\w)", one.text())]
    assert len(set(letters)) == len(letters), letters


# First of the file: with the window that the others share it takes the theme anew twice, 0.5 s each.
def test_that_layout_theme_columns_and_files_are_kept(open_window, monkeypatch, tmp_path, qtbot):
    path, screen = tmp_path / "preferences.json", QGuiApplication.primaryScreen()
    monkeypatch.setattr(type(screen), "availableGeometry", lambda _: QRect(0, 0, 1280, 800))
    monkeypatch.setattr(QGuiApplication, "screenAt", lambda _: screen)
    # As under a window manager with a title bar of 20 pixels.
    geometry, place = QRect(10, 20, 1278, 775), QRect(300, 200, 300, 500)

    def start(theme=""):
        haloscope = open_window(geometry.size().toTuple(), theme, path)
        QtWidgets.QApplication.processEvents()
        return haloscope, haloscope.window, haloscope.window.first_page

    def table_of(key):
        return window.page_of(key).results_panel.table

    haloscope, window, page = start("light")
    haloscope.preferences.choose(theme="dark")
    window.setGeometry(geometry)
    page.panel("kernel").open_as_window(place)
    page.bring_to_front("roofline")
    table_of("explore").show_column("block", shown=False)
    table_of("matrices").show_column("speed_up", shown=True)
    mask = tmp_path / "mine.csv"
    mask.write_text("1,2\n3,4\n")
    page.files.load_mask(mask)
    page.files.save_session(tmp_path / "a&b.haloscope")
    qtbot.waitUntil(lambda: haloscope.recent.of("session") != ())
    window.show_page("course")
    window.close()
    # A column of a later version of the program.
    preferences = json.loads(path.read_text())
    preferences["columns"]["explore"]["gone"] = True
    path.write_text(json.dumps(preferences))

    haloscope, window, page = start()
    assert current_theme().name == "dark"
    assert window.geometry() == geometry
    assert page.panel("roofline").isVisible()
    assert page.panel("kernel").isVisible()
    assert page.panel("kernel").geometry() == place
    haloscope.actions["reset_layout"].trigger()
    assert not page.panel("kernel").is_own_window
    table = table_of("explore")
    assert table.isColumnHidden(table.model().sourceModel().position("block"))
    table_of("explore").choose_columns({})
    window.recent.menu.aboutToShow.emit()
    listed = window.recent.menu.actions()
    names = [action.text().split("  ")[0] for action in listed if action.toolTip().startswith("/")]
    assert names == ["a&&b.haloscope", "mine.csv"]
    haloscope.actions["reopen_last"].trigger()
    qtbot.waitUntil(lambda: haloscope.workspace.mask.shape == (2, 2))
    mask.unlink()
    window.recent.open(str(mask))
    assert haloscope.messages.newest.what == "mine.csv is gone"
    assert haloscope.recent.of("mask") == ()
    window.setWindowState(Qt.WindowState.WindowMaximized)
    QtWidgets.QApplication.processEvents()
    window.close()
    # The columns also of a page that was not shown meanwhile.
    kept = json.loads(path.read_text())
    assert (kept["is_maximized"], tuple(kept["window"])) == (True, geometry.getRect())
    assert kept["columns"] == {"matrices": {"speed_up": True}}
    window.setWindowState(Qt.WindowState.WindowNoState)
    window.take_layout(load_preferences(path)[0])
    assert window.isMaximized()


def test_that_every_page_fits_without_a_word_cut_and_explains_every_control(open_window, qtbot):
    window = open_window().window
    for entry in PAGES:
        shown_page(window, entry.key, qtbot)
        qtbot.waitUntil(lambda: window.is_complete)
        for size in ((1024, 640), (1600, 1000)):
            window.resize(*size)
            QtWidgets.QApplication.processEvents()
            assert (window.width(), window.height()) == size, entry.key
            assert window.page.minimumSizeHint().width() <= window.page.width(), f"{entry.key}: cut"
            assert_no_word_is_cut(window)
        assert_every_control_is_explained(window)
        assert_no_letter_leads_to_two_places(window)


def test_that_every_action_has_a_key_of_its_own_and_teaches_it(haloscope):
    actions = haloscope.actions.all()
    keys = [keys.toString() for action in actions for keys in action.shortcuts()]
    assert len(set(keys)) == len(keys)
    for action in actions:
        assert len(action.toolTip()) > len(action.text()) > 0, action.objectName()
        key = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        # The tooltip of a choice is about what can be chosen.
        assert not key or action.isCheckable() or f"({key}" in action.toolTip(), action.objectName()
    known = {"open": "Ctrl+O", "run": "Ctrl+R", "cancel": "Esc", "quit": "Ctrl+Q", "undo": "Ctrl+Z"}
    assert {name: haloscope.actions[name].shortcut().toString() for name in known} == known


def test_that_what_comes_after_the_first_paint_comes_once_and_each_entry_of_a_menu_has_its_letter(haloscope):
    before = haloscope.window.first_page.panels
    haloscope.finish()
    panels = haloscope.window.first_page.panels
    assert len({panel.objectName() for panel in panels}) == len(panels) == len(before)
    menus = haloscope.window.menuBar()
    for menu in (menus, *menus.findChildren(QtWidgets.QMenu)):
        texts = " ".join(action.text().replace("&&", "") for action in menu.actions())
        letters = [letter.casefold() for letter in re.findall(r"&(\w)", texts)]
        assert len(set(letters)) == len(letters), letters


def test_that_the_one_button_run_runs_every_page_until_cancel(haloscope, qtbot):
    window, run, cancel = haloscope.window, haloscope.actions["run"], haloscope.actions["cancel"]
    for entry in PAGES:
        haloscope.link._client.automatic = True
        page = shown_page(window, entry.key, qtbot)
        qtbot.waitUntil(run.isEnabled)
        own = [button for button in shown(page, QtWidgets.QAbstractButton) if button.text() == "Run"]
        assert own == [], "a page has none of its own"
        qtbot.waitUntil(lambda: not cancel.isEnabled())
        assert "Esc" not in run.toolTip()
        haloscope.link._client.automatic = False
        buttons = shown(window.top_bar, QtWidgets.QToolButton)
        (button,) = (one for one in buttons if one.defaultAction() is run)
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert haloscope.state.running
        assert (run.isEnabled(), cancel.isEnabled()) == (False, True)
        assert "Esc" in run.toolTip()
        cancel.trigger()
        qtbot.waitUntil(lambda: not haloscope.state.running)
        assert (run.isEnabled(), cancel.isEnabled()) == (True, False)


def test_that_whatever_is_dragged_from_elsewhere_can_be_dropped_and_is_taken_up(haloscope, qtbot, tmp_path):
    window, nothing = haloscope.window, (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    for urls, is_taken in (([], False), (["https://example.org/a.png"], True), (["file:///a.png"], True)):
        data = QMimeData()
        data.setUrls([QUrl(url) for url in urls])
        enter = QDragEnterEvent(QPoint(9, 9), Qt.DropAction.CopyAction, data, *nothing)
        enter.ignore()
        window.dragEnterEvent(enter)
        assert (enter.isAccepted(), window._highlight.isVisible()) == (is_taken, is_taken)
    window.dragLeaveEvent(QDragLeaveEvent())
    assert not window._highlight.isVisible()
    drop(haloscope, tmp_path / "photo.png")
    qtbot.waitUntil(lambda: "photo.png" in window.windowTitle())
    workspace, files = haloscope.workspace, haloscope.window.first_page.files
    workspace.change(border=Border.WRAP, block=Block(8, 8))
    files.save_session(tmp_path / "work.json")
    qtbot.waitUntil((tmp_path / "work.json").exists)
    files.save_mask(tmp_path / "mask.json")
    workspace.change(border=Border.ZERO, block=None)
    drop(haloscope, tmp_path / "work.json")
    qtbot.waitUntil(lambda: workspace.settings.border is Border.WRAP)
    assert workspace.settings.block == Block(8, 8)
    (tmp_path / "other.csv").write_text("1,2\n3,4\n")
    for name, shape in (("other.csv", (2, 2)), ("mask.json", (3, 3))):
        drop(haloscope, tmp_path / name)
        assert workspace.mask.shape == shape


def test_that_file_dialogs_do_not_stop_the_window(haloscope, qtbot):
    for name in ("open", "open_session", "save_session", "load_mask", "save_mask", "save"):
        haloscope.actions[name].trigger()
        dialog = haloscope.files.dialog
        qtbot.waitUntil(dialog.isVisible)
        assert name != "save" or dialog.selectedFiles()[0].endswith("astronaut-sharpen.png")
        dialog.reject()
    haloscope.link._client.automatic = False
    haloscope.workspace.change(border=Border.WRAP)
    haloscope.actions["save"].trigger()
    assert haloscope.files.dialog is dialog, "no other one"
    assert "earlier result" in haloscope.window.message_bar.text


def test_that_blocks_that_are_being_typed_belong_to_the_run_unless_they_are_refused(open_window, qtbot):
    haloscope = open_window(unavailable={})
    page = haloscope.window.first_page
    haloscope.workspace.change(variant="naive")
    field = panel_of(page, "blocks", qtbot).field.field
    haloscope.window.activateWindow()
    field.setFocus()
    qtbot.keyClicks(field, "8x8, 16x")
    haloscope.actions["run"].trigger()
    assert not haloscope.state.running
    assert haloscope.blocks_panel.field.is_refused
    qtbot.keyClicks(field, "8")
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 2 and not haloscope.state.running)
    blocks = [result.block for result in haloscope.results.results()]
    assert blocks == [Block(8, 8), Block(16, 8)]
    assert "2 blocks" in haloscope.actions["run"].toolTip()
    qtbot.waitUntil(lambda: len(haloscope.blocks_panel.table.shown.cells) == 2)


@pytest.mark.fresh_window
def test_that_ctrl_z_in_a_number_field_undoes_the_last_edit(haloscope, qtbot):
    haloscope.workspace.change(border=Border.CONSTANT, variant="naive", device="simulator")
    page = haloscope.window.first_page
    size = page.mask_panel.size_controls.rows_box
    size.stepUp()
    haloscope.window.activateWindow()
    for field in (page.kernel_panel.block.width_box, page.mask_panel.apply_controls.value_field, size):
        field.setFocus()
        assert haloscope.workspace.mask.shape == (5, 5)
        qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        assert haloscope.workspace.mask.shape == (3, 3)
        qtbot.keyClick(field, Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)
        assert haloscope.workspace.mask.shape == (5, 5)
        # While something is typed, the keys are the field's.
        field.selectAll()
        qtbot.keyClicks(field, "9")
        qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        assert haloscope.workspace.mask.shape == (5, 5)


def test_that_the_keys_of_an_action_act_in_a_number_field_that_has_a_use_for_them_too(haloscope, qtbot):
    haloscope.workspace.change(border=Border.CONSTANT, variant="naive", device="simulator")
    page, window, asked = haloscope.window.first_page, haloscope.window, []
    action = haloscope.actions["about"]
    # In X11 a field takes Ctrl+E for End. Without a screen Qt has the keys of Windows, where Ctrl+Left is one
    # of the field's own.
    action.setShortcuts([QKeySequence("Ctrl+Left"), QKeySequence("Ctrl+E")])
    haloscope.actions["save_results"].setShortcuts([])
    action.triggered.disconnect()
    action.triggered.connect(lambda _on: asked.append("about"))
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    block, sides = page.kernel_panel.block.width_box, page.mask_panel.size_controls.rows_box
    for field in (block, page.mask_panel.apply_controls.value_field, sides):
        field.setFocus()
        qtbot.keyClicks(field, "9")
        for key in (Qt.Key.Key_Left, Qt.Key.Key_E):
            qtbot.keyClick(field, key, Qt.KeyboardModifier.ControlModifier)
        assert asked == ["about", "about"]
        asked.clear()


@pytest.mark.slow
def test_that_a_first_start_fits_the_screen_with_its_frame(qapp, qtbot, monkeypatch):
    # As narrow as the smallest window, it is still high enough for it and its title.
    screen = QRect(0, 0, 1024, 700)
    monkeypatch.setattr(QScreen, "availableSize", lambda _: screen.size())
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _: screen)
    monkeypatch.setattr(MainWindow, "frameGeometry", lambda w: w.geometry().adjusted(-4, -30, 4, 4))
    haloscope = OpenedWindow(qapp, StartedEngine(lambda **callbacks: FakeEngineClient(**callbacks)))
    qtbot.addWidget(haloscope.window)
    haloscope.window.show()
    qtbot.waitUntil(lambda: haloscope.window.height() == 666)
    haloscope.link.shutdown()


def test_that_the_menu_edit_acts_on_the_page_that_is_shown(haloscope, qtbot):
    window, actions, clipboard = haloscope.window, haloscope.actions, QtWidgets.QApplication.clipboard()
    haloscope.workspace.set_mask(preset("box-3"), "Choose Box")
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 1 and not haloscope.state.running)
    shown_page(window, "network", qtbot)
    qtbot.waitUntil(lambda: bool(haloscope.network.results()))
    assert not actions["undo"].isEnabled(), "nothing was drawn yet"
    assert "There are no runs to clear" in actions["clear_results"].toolTip()
    haloscope.network.drawing.clear()
    qtbot.waitUntil(lambda: actions["undo"].text() == "&Undo Clear")
    actions["undo"].trigger()
    assert not haloscope.network.drawing.is_empty
    assert haloscope.workspace.mask == preset("box-3")
    actions["copy_results"].trigger()
    lines = clipboard.text().strip().splitlines()
    assert len(lines) == 1 + len(haloscope.network.results()), "all stages, though one is chosen"
    actions["run"].trigger()
    qtbot.waitUntil(lambda: actions["clear_results"].isEnabled())
    actions["clear_results"].trigger()
    assert not haloscope.network.runs
    assert haloscope.results.rowCount() == 1
    window.show_page("explore")
    assert actions["undo"].text() == "&Undo Choose Box"
    actions["undo"].trigger()
    assert haloscope.workspace.mask != preset("box-3")
    actions["clear_results"].trigger()
    assert haloscope.results.rowCount() == 0
