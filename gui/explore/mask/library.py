"""The library of masks: a list with pictures and a search, one's own masks, and generators with sliders."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QAction, QKeyEvent, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QStyleOptionButton,
    QWidget,
)

from engine.errors import EngineError
from engine.mask.generator_table import GENERATORS, Generator
from gui.explore.mask.generator_sliders import GeneratorSliders
from gui.explore.mask.library_rows import (
    ENTRY,
    LibraryEntry,
    LibraryRow,
    MaskEffects,
    OwnMasks,
    library_entries,
    list_entries,
    matching,
)
from gui.explore.state import preset_of
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, follow
from gui.widgets.panel_parts import VerdictLabel, boxed, column, named, row, text_button

_WIDTH, _HEIGHT = 52 * GRID, 68 * GRID
_LEAST_HEIGHT = 40 * GRID
# Narrow, so that the picture is seen beside it.
_SLIDERS_WIDTH = 42 * GRID
_LIST_KEYS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_KEEP_TIP = "Keep the mask that is shown in this list, for all sessions, under the name beside the button."
_GENERATE_TIP = "Make a mask from a few numbers, with sliders: Gaussian, Gabor, motion blur and others."
_NOTHING = "No mask has these words. Own masks can be kept below; Generate makes others."


class MaskLibrary(QFrame):
    """A popup: a click or Enter takes a mask and closes it; Esc closes it and undoes what was generated."""

    def __init__(
        self, workspace: Workspace, own: OwnMasks, parent: QWidget, effects: MaskEffects | None = None
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup, frameShape=QFrame.Shape.StyledPanel)
        self._workspace, self._own, self._effects = workspace, own, effects
        self._entries, self._height = list[LibraryEntry](), _HEIGHT
        self._deleted: LibraryEntry | None = None
        self.setAccessibleName("Library of masks")
        self.search = named(QLineEdit(clearButtonEnabled=True), "Search the masks")
        self.generate_button = text_button("tune", "Generate", "Generate a mask", _GENERATE_TIP)
        self.rows, self.list = QStandardItemModel(self), named(QListView(), "Masks")
        self.name_field = named(QLineEdit(), "Name under which the mask is kept", _KEEP_TIP)
        self.keep_button = QPushButton("Keep")
        self.keep_button.setToolTip(_KEEP_TIP)
        self.verdict, self.undo_button = VerdictLabel(), QPushButton("Restore")
        self.sliders = GeneratorSliders(workspace)
        self.back_button = text_button("arrow-left", "Masks", "Back", "Back to the list of masks.")
        self.done_button = QPushButton("Done")
        self.done_button.setToolTip("Keep the mask that is shown. Esc takes it back.")
        self._pages = QStackedWidget()
        self._empty = QLabel(_NOTHING, wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        self.list.setModel(self.rows)
        self.list.setItemDelegate(LibraryRow(self.list, self._effects))
        self.list.setMouseTracking(True)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.name_field.setPlaceholderText("Name of the mask that is shown")
        head, kept = row((self.search, 1), self.generate_button), row((self.name_field, 1), self.keep_button)
        foot = row((self.verdict, 1), self.undo_button)
        listed = head, (self.list, 1), (self._empty, 1), kept, foot
        generated = row(self.back_button, 1, self.done_button), (self.sliders, 1)
        for parts in (listed, generated):
            self._pages.addWidget(boxed(column(*parts, margins=(GRID, GRID, GRID, GRID))))
        self.setLayout(column(self._pages))
        self.search.textChanged.connect(self._filter)
        if self._effects is not None:
            self._effects.changed.connect(self.list.viewport().update)
        for watched in (self.search, self.list):
            watched.installEventFilter(self)
        # Heads have no entry.
        self.list.clicked.connect(lambda at: self.choose(at.data(ENTRY)) if at.data(ENTRY) else None)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.generate_button.clicked.connect(lambda: self.show_generator(GENERATORS["gaussian"]))
        self.back_button.clicked.connect(self._show_list)
        self.done_button.clicked.connect(self.close)
        self.keep_button.clicked.connect(self.keep)
        self.name_field.returnPressed.connect(self.keep)
        self.undo_button.clicked.connect(self._restore)

    def open_below(self, widget: QWidget) -> None:
        """Show the list under a widget, with the search ready to type."""
        self._deleted = None
        self.search.clear()
        self._say("")
        self._place(widget)
        self._show_list()

    def entries(self) -> list[LibraryEntry]:
        """Return everything that can be chosen: own masks, generators, presets."""
        return library_entries(self._own.read()[0])

    def open_generator(self, widget: QWidget, generator: Generator) -> None:
        """Show the sliders under a widget."""
        self._place(widget)
        self.show_generator(generator)

    def show_generator(self, generator: Generator) -> None:
        """Show the sliders of a generator instead of the list."""
        self._pages.setCurrentIndex(1)
        self.sliders.begin(generator)
        self.resize(_SLIDERS_WIDTH, _LEAST_HEIGHT)
        next(iter(self.sliders.sliders.values())).slider.setFocus()

    def choose(self, entry: LibraryEntry) -> None:
        """Take a mask, or show the sliders of a generator."""
        if entry.generator is not None:
            self.show_generator(entry.generator)
            return
        self.close()
        kind = "Own mask" if entry.is_own else "Preset"
        self._workspace.set_mask(entry.mask, f"{kind} {entry.title}", is_new=True)

    def keep(self) -> None:
        """Keep the mask that is shown under the name that is typed."""
        kept = self._done(lambda: self._own.save(self._workspace.mask, self.name_field.text()))
        if kept is not None:
            self._read()
            self._say(f"Kept as {kept.title!r}.")

    def delete(self, own: LibraryEntry) -> None:
        """Delete a kept mask; it can be brought back until the list is closed."""
        if self._done(lambda: self._own.delete(own)) is not None:
            self._deleted = own
            self._read()
            self._say(f"Deleted {own.title!r}.")
            self.undo_button.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            entry: LibraryEntry | None = self.list.currentIndex().data(ENTRY)
            is_delete = watched is self.list and event.key() == Qt.Key.Key_Delete
            if watched is self.search and event.key() in _LIST_KEYS:
                self.list.keyPressEvent(event)
            elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and entry is not None:
                self.choose(entry)
            elif is_delete and entry is not None and entry.is_own:
                self.delete(entry)
            else:
                return super().eventFilter(watched, event)
            return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.key() == Qt.Key.Key_Escape and self._pages.currentIndex() == 1:
            # A number that was being typed was entered as its field was left.
            self.sliders.take_back()

    def _read(self) -> None:
        kept, faults = self._own.read()
        self._entries = library_entries(kept)
        if faults:
            self._say(" ".join(faults[:2]), is_bad=True)
        presets = sum(not entry.is_own and entry.generator is None for entry in self._entries)
        self.search.setPlaceholderText(f"Search {presets} masks and {len(GENERATORS)} generators")
        self._filter()
        if self._effects is not None:
            self._effects.ask(entry.mask for entry in self._entries)

    def _filter(self) -> None:
        text = self.search.text()
        matches = matching(self._entries, text)
        list_entries(self.rows, matches, with_heads=not text.strip())
        shown = (self.rows.index(at, 0) for at in range(self.rows.rowCount()))
        entries = [index for index in shown if index.data(ENTRY)]
        same = [index for index in entries if index.data(ENTRY).mask == self._workspace.mask]
        if entries:
            first = same[0] if same and not text.strip() else entries[0]
            self.list.setCurrentIndex(first)
            where = QAbstractItemView.ScrollHint
            self.list.scrollTo(first, where.PositionAtCenter if same and not text else where.EnsureVisible)
        self._empty.setVisible(not matches)
        self.list.setVisible(bool(matches))

    def _say(self, text: str, *, is_bad: bool = False) -> None:
        self.verdict.say(text, is_bad=is_bad)
        self.verdict.setVisible(bool(text))
        self.undo_button.hide()

    def _restore(self) -> None:
        deleted = self._deleted
        if deleted is not None and self._done(lambda: self._own.write(deleted)) is not None:
            self._say(f"{deleted.title!r} is back.")
            self._read()

    def _done(self, change: Callable[[], LibraryEntry]) -> LibraryEntry | None:
        """Change the own masks; say why where that cannot be done."""
        try:
            return change()
        except EngineError as error:
            self._say(str(error), is_bad=True)
            return None

    def _show_menu(self, position: QPoint) -> None:
        entry: LibraryEntry | None = self.list.indexAt(position).data(ENTRY)
        if entry is not None and entry.is_own:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.addAction("Delete\tDel").triggered.connect(lambda: self.delete(entry))
            menu.popup(self.list.viewport().mapToGlobal(position))

    def _place(self, widget: QWidget) -> None:
        corner = widget.mapToGlobal(QPoint(0, widget.height()))
        area = widget.screen().availableGeometry()
        self._height = height = max(_LEAST_HEIGHT, min(_HEIGHT, area.bottom() - corner.y() - GRID))
        self.resize(_WIDTH, height)
        left = min(max(corner.x(), area.left()), area.right() - _WIDTH)
        self.move(left, min(corner.y(), area.bottom() - height))
        self.show()

    def _show_list(self) -> None:
        self.resize(_WIDTH, self._height)
        self.name_field.setText(self._workspace.mask.name)
        self._read()
        self._pages.setCurrentIndex(0)
        self.search.setFocus()


# The frame, the arrow, and room on both sides.
_AROUND_NAME = 5 * GRID
_TOOLTIP = (
    "Ready masks with a picture and a sentence each, your own ones, and generators with sliders.\n"
    "Type to search; choosing one can be undone."
)


class PresetButton(QPushButton):
    """Shows which preset the mask is, cut if it is long, and whether it was edited; opens the library."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._library: MaskLibrary | None = None
        self.effects: MaskEffects | None = None
        """What draws what the masks of the library do; set before the library is opened, or left out."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Preset")
        self.clicked.connect(lambda: self.library.open_below(self))
        follow(self._show_mask, workspace.mask_changed)

    @property
    def library(self) -> MaskLibrary:
        """The library, made when it is first opened."""
        if self._library is None:
            self._library = MaskLibrary(self._workspace, OwnMasks(), self, self.effects)
        return self._library

    @property
    def choices(self) -> list[QAction]:
        """An action for each mask and generator of the library; its data is the title of its group."""
        actions = []
        for entry in self.library.entries():
            actions.append(QAction(entry.title, self, toolTip=entry.about))
            actions[-1].setData(entry.group)
            actions[-1].triggered.connect(lambda _on=False, entry=entry: self._choose(entry))
        return actions

    def _choose(self, entry: LibraryEntry) -> None:
        if entry.generator is not None:
            self.library.open_generator(self, entry.generator)
        else:
            self.library.choose(entry)

    def generate(self) -> None:
        self.library.open_generator(self, GENERATORS["gaussian"])

    def _show_mask(self) -> None:
        preset, title = preset_of(self._workspace.mask), self._workspace.step.mask_title
        # A name is no text with mnemonics.
        self.setText(title.replace("&", "&&"))
        self.setToolTip(f"{preset.teaches if preset is not None else title}\n\n{_TOOLTIP}")

    def minimumSizeHint(self) -> QSize:
        return QSize(1, super().minimumSizeHint().height())

    def initStyleOption(self, option: QStyleOptionButton) -> None:
        super().initStyleOption(option)
        option.features |= QStyleOptionButton.ButtonFeature.HasMenu
        width = self.width() - _AROUND_NAME
        option.text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, width)
