import json

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDockWidget, QLabel, QToolButton, QWidget

from engine.block import Block
from engine.border import Border
from gui.style.theme import apply_theme, current_theme


@pytest.fixture(autouse=True)
def _light_again(qapp):
    yield
    apply_theme(qapp, "light")


def shown(window: QWidget, kind: type) -> list[QWidget]:
    return [widget for widget in window.findChildren(kind) if widget.isVisible() and widget.width() > 0]


def width_of_words(widget: QWidget) -> int:
    """Pixels that the words need, and the icon beside them."""
    if isinstance(widget, QLabel) and (widget.wordWrap() or Qt.mightBeRichText(widget.text())):
        return 0
    text = widget.currentText() if isinstance(widget, QComboBox) else widget.text()
    if isinstance(widget, QToolButton) and widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly:
        return widget.iconSize().width()
    width = max(widget.fontMetrics().horizontalAdvance(line.replace("&", "")) for line in text.split("\n"))
    beside = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
    has_icon = (
        isinstance(widget, QToolButton) and widget.toolButtonStyle() == beside and not widget.icon().isNull()
    )
    return width + (widget.iconSize().width() if has_icon else 0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 800), (1600, 1000)])
def test_that_the_window_fits_and_no_word_is_cut(open_window, size, theme):
    window = open_window(size, theme).window
    assert (window.width(), window.height()) == size
    assert current_theme().name == theme
    for kind in (QAbstractButton, QComboBox, QLabel):
        for widget in shown(window, kind):
            text = widget.currentText() if isinstance(widget, QComboBox) else widget.text()
            assert widget.width() >= width_of_words(widget), text
            assert widget.height() >= widget.fontMetrics().ascent() or not text, text


def test_that_the_page_has_all_its_docks_in_view(open_window):
    window = open_window().window
    docks = shown(window, QDockWidget)
    assert {dock.objectName() for dock in docks} == {"mask", "kernel", "time", "speed-up", "results"}
    widths = {dock.objectName(): dock.width() for dock in docks}
    assert min(widths["mask"], widths["kernel"]) >= 240, widths
    assert window.first_page.surface.width() >= 400


def test_that_each_plot_comes_once_and_after_the_first_paint(open_window):
    haloscope = open_window()
    haloscope.finish()
    kinds = [type(widget).__name__ for widget in haloscope.window.findChildren(QWidget)]
    assert kinds.count("TimePlot") == kinds.count("SpeedupPlot") == 1


def test_that_every_control_of_the_frame_has_a_tooltip_and_a_name(open_window):
    window = open_window().window
    for bar in (window.top_bar, window.page_bar, window.status_line):
        for button in shown(bar, QAbstractButton):
            assert button.toolTip(), button.text()
            assert button.accessibleName(), button.text()


def test_that_run_all_fills_the_table_and_the_status_line(open_window, qtbot):
    haloscope = open_window()
    haloscope.actions["run_all"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 3)
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert "verified" in haloscope.window.status_line.last_run
    assert haloscope.actions["export_csv"].isEnabled()


def test_that_cancel_can_only_be_chosen_while_there_is_something_to_stop(open_window, qtbot):
    haloscope = open_window()
    haloscope.link._client.automatic = False
    assert not haloscope.actions["cancel"].isEnabled()
    haloscope.actions["run"].trigger()
    assert haloscope.actions["cancel"].isEnabled()
    assert not haloscope.actions["run"].isEnabled()
    haloscope.actions["cancel"].trigger()
    qtbot.waitUntil(lambda: not haloscope.state.running)
    assert not haloscope.actions["cancel"].isEnabled()
    assert haloscope.actions["run"].isEnabled()


def dropped(window, path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPointF(10, 10),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)


def test_that_a_dropped_picture_is_opened(open_window, qtbot, tmp_path):
    haloscope = open_window()
    dropped(haloscope.window, tmp_path / "photo.png")
    qtbot.waitUntil(lambda: haloscope.workspace.picture.title == "photo.png")
    assert "photo.png" in haloscope.window.windowTitle()


def test_that_a_dropped_session_is_taken_up(open_window, qtbot, tmp_path):
    haloscope = open_window()
    haloscope.workspace.change(border=Border.WRAP, block=Block(8, 8))
    haloscope.sessions.save(tmp_path / "work.json")
    haloscope.workspace.change(border=Border.ZERO, block=None)
    dropped(haloscope.window, tmp_path / "work.json")
    qtbot.waitUntil(lambda: haloscope.workspace.settings.border is Border.WRAP)
    assert haloscope.workspace.settings.block == Block(8, 8)


def test_that_what_cannot_be_opened_is_told_and_the_window_goes_on(open_window, qtbot, tmp_path):
    haloscope = open_window()
    dropped(haloscope.window, tmp_path / "missing.png")
    qtbot.waitUntil(haloscope.window.message_bar.isVisible)
    assert "missing.png cannot be opened" in haloscope.window.message_bar.text
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 1)


def test_that_layout_and_theme_are_kept(open_window, tmp_path):
    path = tmp_path / "preferences.json"
    first = open_window(preferences_path=path)
    first.actions.themes.actions()[1].trigger()
    first.window.findChild(QDockWidget, "speed-up").close()
    first.window.close()
    assert json.loads(path.read_text())["theme"] == "dark"
    second = open_window(theme="", preferences_path=path)
    assert current_theme().name == "dark"
    assert not second.window.findChild(QDockWidget, "speed-up").isVisible()
    second.actions["reset_layout"].trigger()
    assert second.window.findChild(QDockWidget, "speed-up").isVisible()


def test_that_bad_preferences_are_told_once_and_the_defaults_used(open_window, tmp_path):
    path = tmp_path / "preferences.json"
    path.write_text('{"version": 1, "geometry": "zz"}')
    haloscope = open_window(theme="", preferences_path=path)
    assert "preferences.json.bak" in haloscope.window.message_bar.text
    assert path.with_suffix(".json.bak").exists()


def test_that_a_layout_of_another_version_leaves_the_default_one(open_window, tmp_path):
    path = tmp_path / "preferences.json"
    path.write_text(
        json.dumps({"version": 1, "geometry": "00", "layouts": {"explore": "00ff", "gone": "00"}})
    )
    window = open_window(theme="", preferences_path=path).window
    assert len(shown(window, QDockWidget)) == 5


@pytest.mark.parametrize("name", ["open", "save", "open_session", "save_session"])
def test_that_file_dialogs_do_not_stop_the_window(open_window, qtbot, name):
    haloscope = open_window()
    haloscope.actions[name].trigger()
    dialog = haloscope.files.dialog
    qtbot.waitUntil(dialog.isVisible)
    dialog.reject()


def test_that_the_suggested_name_says_picture_and_mask(open_window):
    haloscope = open_window()
    haloscope.actions["save"].trigger()
    assert haloscope.files.dialog.selectedFiles()[0].endswith("astronaut-sharpen.png")
    haloscope.files.dialog.reject()


@pytest.mark.parametrize("name", ["about", "shortcuts", "documentation"])
def test_that_help_opens_beside_the_window(open_window, qtbot, name):
    haloscope = open_window()
    haloscope.actions[name].trigger()
    (dialog,) = [
        w for w in haloscope.window.children() if w.isWidgetType() and w.isWindow() and w.isVisible()
    ]
    assert dialog.windowTitle() == haloscope.actions[name].iconText()
    dialog.reject()
