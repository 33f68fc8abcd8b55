"""Panels that are floated, closed, tabbed and moved: layouts settle, and Default layout is the first one."""

import random
from itertools import cycle

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QTabBar, QToolButton, QWidget

from gui.page.dock import LEAST_HEIGHT
from gui.shell.pages import PAGES
from gui.style.metrics import GRID, HALF_GRID
from tests.gui.made_window import made, shown_page

pytestmark = pytest.mark.fresh_window

# The least room shows most: what settles there settles in a larger window.
SMALL = (1024, 700)
WITH_PANELS = ["explore", "matrices", "network"]
AREAS = [
    Qt.DockWidgetArea.LeftDockWidgetArea,
    Qt.DockWidgetArea.TopDockWidgetArea,
    Qt.DockWidgetArea.RightDockWidgetArea,
    Qt.DockWidgetArea.BottomDockWidgetArea,
]
# A change of one layout reaches those around it in at most 30 rounds; one that never settles goes on.
MOST_ROUNDS = 90


class Layouts(QObject):
    """Counts what layouts do in the whole program."""

    def __init__(self, app):
        super().__init__()
        self._app = app
        self._count = 0
        app.installEventFilter(self)

    def eventFilter(self, watched, event):  # noqa: N802
        self._count += event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize)
        return False

    def settle(self):
        """Let every layout answer every other one."""
        for _ in range(MOST_ROUNDS):
            before = self._count
            self._app.processEvents()
            # A dock whose last move is not forgotten stays where it is.
            self._app.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            if self._count == before:
                return
        raise AssertionError("the layouts never settle")


@pytest.fixture
def layouts(qapp):
    layouts = Layouts(qapp)
    yield layouts
    qapp.removeEventFilter(layouts)


@pytest.fixture
def open_page(open_window, layouts, qtbot):
    """Return a function that opens the window with a page, whose panels move without an animation."""

    def make(key, size=(1280, 800), **options):
        window = open_window(size, **options).window
        shown_page(window, key, qtbot).setAnimated(False)
        layouts.settle()
        # Painting takes most of the time, and nothing here is about it.
        window.setUpdatesEnabled(False)
        return window

    return make


def geometries(page):
    """Return where each panel is that is in view, and what stands in the tabs."""
    docks = {
        dock.objectName(): (dock.geometry().getRect(), dock.isFloating())
        for dock in page.docks
        if dock.widget().isVisible()
    }
    bars = [bar for bar in page.findChildren(QTabBar) if bar.isVisible()]
    return docks, sorted([bar.tabText(at) for at in range(bar.count())] for bar in bars)


def show_a_tile(window, layouts):
    """Have the panel Tile on Explore show cells."""
    page = window.page_of("explore")
    made(page, "tile")
    page.dock("tile").raise_()
    layouts.settle()
    page.selection.select("tiled")
    layouts.settle()
    page.docks[0].raise_()
    layouts.settle()


def all_moves(page):
    """Return ways to move each panel of a page: each area gets every second one."""

    def tab(dock):
        page.tabifyDockWidget(next(other for other in page.docks if other is not dock), dock)
        dock.raise_()

    def floated(dock, geometry):
        dock.raise_()
        dock.setFloating(True)
        dock.setGeometry(geometry)

    def dropped(dock, area):
        dock.setFloating(False)
        page.addDockWidget(area, dock)
        dock.show()

    middle = page.mapToGlobal(page.rect().center())
    for number, dock in enumerate(page.docks):
        moves = [lambda d: floated(d, QRect(middle, d.size()))]
        moves += [lambda d: d.close(), lambda d: d.show(), tab]
        # Across and down: the other two areas get the next panel.
        moves += [lambda d, a=area: dropped(d, a) for area in AREAS[2 * (number % 2) :][:2]]
        for move in moves:
            yield dock, move


def test_that_panels_keep_their_title_bars_while_another_page_is_shown(open_page, layouts):
    window = open_page("explore")
    page = window.page
    page.dock("lens").close()
    layouts.settle()

    def bars():
        return [(dock.is_tabbed, dock.property("docking"), dock.titleBarWidget()) for dock in page.docks]

    before = bars()
    assert {is_tabbed for is_tabbed, *_ in before} == {True, False}
    window.show_page("course")
    layouts.settle()
    assert not page.isVisible()
    assert bars() == before


@pytest.mark.parametrize("key", WITH_PANELS)
def test_that_layouts_settle_wherever_a_panel_is_moved(open_page, layouts, key):
    window = open_page(key, SMALL)
    others = cycle(entry.key for entry in PAGES if entry.key != key)
    page = window.page
    for dock, move in all_moves(page):
        move(dock)
        layouts.settle()
        # A panel in the page comes back as it went: each second one floated, the others closed.
        if dock.isFloating() if page.docks.index(dock) % 2 else not dock.isVisible():
            window.show_page(next(others))
            layouts.settle()
            window.show_page(key)
            layouts.settle()
    assert (window.width(), window.height()) == SMALL


def test_that_every_page_settles_in_a_window_of_any_size(open_page, layouts):
    window = open_page("explore")
    show_a_tile(window, layouts)
    for entry in PAGES:
        window.show_page(entry.key)
        for number, width in enumerate((1024, 1033, 1111, 1440)):
            for height in range(640 + 29 * (number % 2), 900, 58):
                window.resize(width, height)
                layouts.settle()


@pytest.mark.parametrize("key", WITH_PANELS)
def test_that_a_panel_settles_at_every_height(open_page, layouts, key):
    window = open_page(key)
    show_a_tile(window, layouts)
    for dock in window.page.docks:
        dock.raise_()
        dock.setFloating(True)
        # With a scroll bar and without, words take other lines and a cell of the drawing other pixels.
        for number, wider in enumerate((0, 9, 18, 60)):
            for height in range(LEAST_HEIGHT + 14 * (number % 2), 760, 28):
                dock.resize(dock.minimumSizeHint().width() + wider, height)
                layouts.settle()
        dock.close()


@pytest.mark.parametrize(
    ("key", "size"),
    [("explore", SMALL), ("explore", (2560, 1440)), ("matrices", (2560, 1440)), ("network", SMALL)],
)
def test_that_the_default_layout_is_that_of_the_first_start_to_the_pixel(open_page, layouts, key, size):
    window = open_page(key, size)
    page, chance = window.page, random.Random(key)
    first = geometries(page)
    show_a_tile(window, layouts)
    for _ in range(2):
        for dock, move in chance.sample(list(all_moves(page)), 6):
            move(dock)
            page.resizeDocks(page.docks, chance.choices(range(90, 700), k=len(page.docks)), Qt.Vertical)
            page.resizeDocks(page.docks, chance.choices(range(90, 700), k=len(page.docks)), Qt.Horizontal)
            layouts.settle()
        assert geometries(page) != first
        window.restore_default_layout()
        layouts.settle()
        assert geometries(page) == first


@pytest.mark.parametrize("key", ["explore", "network"])
@pytest.mark.parametrize(("first", "then"), [(SMALL, (2560, 1440)), ((2560, 1440), SMALL)])
def test_that_panels_as_at_first_have_their_share_of_a_window_of_another_size(
    open_page, layouts, key, first, then
):
    window = open_page(key, first)
    window.resize(*then)
    layouts.settle()
    resized = geometries(window.page)
    window.restore_default_layout()
    layouts.settle()
    assert resized == geometries(window.page)


def test_that_panels_that_were_looked_at_in_a_large_window_have_their_share_of_a_small_one(
    open_page, layouts
):
    window = open_page("explore", (2560, 1440))
    page = window.page
    # Some lay their parts side by side there, and then need more width than a small window has for them.
    for dock in page.docks:
        dock.raise_()
        layouts.settle()
    window.restore_default_layout()
    layouts.settle()
    window.resize(*SMALL)
    layouts.settle()
    resized = geometries(page)
    window.restore_default_layout()
    layouts.settle()
    assert resized == geometries(page)


@pytest.mark.parametrize("key", ["explore", "network"])
def test_that_a_window_made_large_and_small_again_is_as_before_whatever_is_in_front(open_page, layouts, key):
    window = open_page(key, SMALL)
    page = window.page
    for dock in page.docks:
        dock.raise_()
        layouts.settle()
    in_front = [dock for dock in page.docks if dock.geometry().right() > 0]
    first = {dock: dock.geometry() for dock in in_front}
    window.resize(2560, 1440)
    layouts.settle()
    # Behind a tab each of them keeps its parts side by side.
    for dock in (*page.docks, *in_front):
        dock.raise_()
        layouts.settle()
    window.resize(*SMALL)
    layouts.settle()
    assert {dock: dock.geometry() for dock in in_front} == first


def test_that_a_height_that_a_person_chose_stays_in_a_larger_window(open_page, layouts):
    window = open_page("explore", (1280, 800))
    page = window.page
    below = next(dock for dock in page.docks if dock.objectName() == "results")
    page.resizeDocks([below], [150], Qt.Orientation.Vertical)
    layouts.settle()
    chosen = below.height()
    window.resize(2560, 1440)
    layouts.settle()
    assert below.height() == chosen


@pytest.mark.parametrize("key", ["explore", "network"])
def test_that_a_look_at_a_tab_leaves_every_panel_as_large_as_it_was(open_page, layouts, key):
    window = open_page(key, SMALL)
    first = geometries(window.page)
    if key == "explore":
        show_a_tile(window, layouts)
    for dock in window.page.docks:
        dock.raise_()
        layouts.settle()
    for dock in reversed(window.page.docks):
        dock.raise_()
        layouts.settle()
    assert geometries(window.page) == first


def test_that_a_low_panel_scrolls_to_what_is_out_of_sight(open_page, layouts):
    window = open_page("explore")
    show_a_tile(window, layouts)
    page = window.page
    for dock in page.docks:
        title = dock.height() - dock.widget().height()
        assert dock.widget().minimumSizeHint().height() <= LEAST_HEIGHT, title
    tile = page.dock("tile")
    tile.raise_()
    tile.setFloating(True)
    tile.resize(320, tile.minimumHeight() + LEAST_HEIGHT)
    layouts.settle()
    panel, room = tile.widget().widget(), tile.widget()
    assert room.verticalScrollBar().maximum() == panel.height() - room.viewport().height() > 0
    tile.resize(320, 700)
    layouts.settle()
    assert room.verticalScrollBar().maximum() == 0
    assert panel.height() == room.viewport().height()


def tab_of(page, name):
    """Return the bar of tabs with a panel, and the middle of the panel's tab."""
    title = next(dock for dock in page.docks if dock.objectName() == name).windowTitle()
    for bar in page.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
        for at in range(bar.count()):
            if bar.tabText(at) == title:
                return bar, bar.tabRect(at).center()
    raise AssertionError(f"no tab has the title {title}")


def buttons_of(bar):
    return bar.findChild(QWidget, "tabButtons").findChildren(QToolButton)


def test_that_a_panel_with_a_tab_has_no_second_row_for_its_title(open_page):
    page = open_page("explore").page
    rows = {dock.objectName(): dock.widget().y() for dock in page.docks if dock.widget().isVisible()}
    assert rows.pop("kernel") > GRID  # It has no tab.
    assert set(rows) == {"mask", "why", "results"}
    assert all(above <= HALF_GRID for above in rows.values()), rows


def test_that_the_buttons_beside_the_tabs_close_and_float_the_panel_in_front(open_page, layouts):
    page = open_page("explore").page
    bar, _ = tab_of(page, "why")
    page.dock("why").raise_()
    layouts.settle()
    float_it, close = buttons_of(bar)
    close.click()
    layouts.settle()
    assert page.dock("why").isHidden()
    page.dock("roofline").raise_()
    layouts.settle()
    float_it.click()
    layouts.settle()
    assert page.dock("roofline").isFloating()
    assert page.dock("roofline").titleBarWidget() is None  # Its window has a bar with its title.
    page.dock("roofline").setFloating(False)
    layouts.settle()
    assert page.dock("roofline").widget().y() <= HALF_GRID


def test_that_the_buttons_beside_the_tabs_leave_a_narrow_row_to_the_tabs(open_page, layouts):
    page = open_page("explore").page
    bar, _ = tab_of(page, "why")
    assert all(button.isVisible() for button in buttons_of(bar))
    page.resizeDocks([page.dock("why")], [page.width() // 5], Qt.Orientation.Horizontal)
    layouts.settle()
    assert bar.width() < bar.tabRect(bar.count() - 1).right() + 40
    assert not any(button.isVisible() for button in buttons_of(bar))


@pytest.mark.parametrize("reason", QContextMenuEvent.Reason)
def test_that_the_menu_of_a_tab_closes_its_panel(open_page, layouts, qapp, reason):
    page = open_page("explore").page
    bar, at = tab_of(page, "code")
    by_key = reason is QContextMenuEvent.Reason.Keyboard
    qapp.sendEvent(bar, QContextMenuEvent(reason, QPoint() if by_key else at, bar.mapToGlobal(at)))
    menu = bar.findChild(QMenu)
    next(action for action in menu.actions() if action.text() == "&Close").trigger()
    layouts.settle()
    menu.close()
    # Keys are for the panel in front.
    closed = page.dock("why" if by_key else "code")
    assert [dock for dock in page.docks if dock.isHidden()] == [closed]


@pytest.mark.qt_log_ignore("does not support grabbing the mouse", extend=True)  # the offscreen platform
def test_that_a_tab_that_is_dragged_out_of_its_row_is_dragged_on_as_a_window(open_page, layouts, qtbot):
    page = open_page("explore").page
    bar, at = tab_of(page, "launch")
    left = Qt.MouseButton.LeftButton
    qtbot.mousePress(bar, left, pos=at)
    drag_over(bar, at + QPoint(20, 4))
    assert not page.dock("launch").isFloating()  # Within its row it is only moved along.
    drag_over(bar, at - QPoint(0, 100))
    layouts.settle()
    assert page.dock("launch").isFloating()
    pointer = page.mapToGlobal(QPoint(500, 200))
    drag_over(page.dock("launch"), page.dock("launch").mapFromGlobal(pointer))
    layouts.settle()
    title = page.dock("launch").mapFromGlobal(pointer)
    assert page.dock("launch").rect().contains(title)
    qtbot.mouseRelease(page.dock("launch"), left, pos=title)


def drag_over(widget, at):
    """Move the mouse with its left button down."""
    left = Qt.MouseButton.LeftButton
    where = QPointF(at), QPointF(widget.mapToGlobal(at))
    moved = QMouseEvent(QEvent.Type.MouseMove, *where, Qt.MouseButton.NoButton, left, Qt.KeyboardModifier(0))
    QApplication.sendEvent(widget, moved)


def test_that_a_double_click_on_a_tab_makes_its_panel_a_window(open_page, layouts, qtbot):
    page = open_page("explore").page
    bar, at = tab_of(page, "lens")
    qtbot.mouseDClick(bar, Qt.MouseButton.LeftButton, pos=at)
    layouts.settle()
    assert page.dock("lens").isFloating()


def test_that_a_floated_panel_comes_back_with_its_page_also_after_a_restart(open_page, layouts, tmp_path):
    path = tmp_path / "preferences.json"
    window = open_page("network", preferences_path=path)
    drawing = window.page.docks[0]
    drawing.setFloating(True)
    # In the offscreen screen.
    drawing.setGeometry(300, 200, 300, 500)
    layouts.settle()
    was = drawing.geometry()
    window.show_page("explore")
    layouts.settle()
    assert not drawing.isVisible()
    window.show_page("network")
    layouts.settle()
    assert drawing.isVisible()
    assert drawing.geometry() == was
    window.show_page("explore")
    window.close()

    window = open_page("network", theme="", preferences_path=path)
    drawing = window.page.docks[0]
    assert drawing.isFloating()
    assert drawing.isVisible()
    assert drawing.geometry() == was


def test_that_the_window_opens_where_it_was_left(open_window, monkeypatch, tmp_path):
    path = tmp_path / "preferences.json"
    screen = QGuiApplication.primaryScreen()
    monkeypatch.setattr(type(screen), "availableGeometry", lambda _: QRect(0, 0, 1280, 800))
    monkeypatch.setattr(QGuiApplication, "screenAt", lambda _: screen)
    # As under a window manager with a title bar of 20 pixels.
    geometry = QRect(10, 20, 1278, 775)
    window = open_window(preferences_path=path).window
    window.setGeometry(geometry)
    window.close()
    window = open_window(geometry.size().toTuple(), theme="", preferences_path=path).window
    assert window.geometry() == geometry
    window.setWindowState(Qt.WindowState.WindowMaximized)
    QApplication.processEvents()
    window.close()
    window = open_window(geometry.size().toTuple(), theme="", preferences_path=path).window
    assert window.isMaximized()
