"""What panels are made of: rows and columns, labels, small buttons, scroll areas."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from PySide6.QtCore import QEvent, QObject, QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction, QPalette, QResizeEvent, QShowEvent, QStandardItemModel
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QMenu,
    QScrollArea,
    QStackedWidget,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.style.icons import icon
from gui.style.metrics import GRID, HALF_GRID, at_usual_letters, follow_letters, small_font

# A widget or a layout, with a stretch factor or without; a number alone is empty space that stretches.
Part = QWidget | QLayout | tuple[QWidget | QLayout, int] | int
# Left, top, right, bottom, in pixels, or one for all.
Margins = tuple[int, int, int, int] | int

ICON_BUTTON_SIDE = 3 * GRID + 4
_ICON_SIDE = 2 * GRID + 2
NO_ARROW = "QToolButton::menu-indicator { image: none; }"
Box = TypeVar("Box", bound=QBoxLayout)
Named = TypeVar("Named", bound=QWidget)

PANEL_MARGINS = (GRID, 0, GRID, HALF_GRID)
"""Of what fills a panel, under its row of tabs."""
ROUND_MARGINS = (GRID, HALF_GRID, GRID, HALF_GRID)
"""Of what has a line of its own above."""


def row(*parts: Part, spacing: int = GRID, margins: Margins = 0) -> QHBoxLayout:
    """Return the parts side by side."""
    return _filled(QHBoxLayout(), parts, spacing, margins)


class FoldingRow(QHBoxLayout):
    """Parts side by side or, with less width than `beside_from`, below one another.

    It asks for no more width than they need then. By default they fold where they do not fit.
    """

    def __init__(self, beside_from: int = 0) -> None:
        super().__init__()
        self._beside_from = beside_from

    @property
    def is_beside(self) -> bool:
        return self.direction() == QBoxLayout.Direction.LeftToRight

    def minimumSize(self) -> QSize:
        # What is behind a tab keeps its width in a window made smaller, and so its parts side by side.
        needed, margins = super().minimumSize(), self.contentsMargins()
        folded = max(self._widths(), default=0) + margins.left() + margins.right()
        return QSize(min(needed.width(), folded), needed.height())

    def setGeometry(self, rect: QRect) -> None:
        widths, directions = self._widths(), QBoxLayout.Direction
        needed = self._beside_from or sum(widths) + self.spacing() * (len(widths) - 1)
        width = rect.marginsRemoved(self.contentsMargins()).width()
        wanted = directions.LeftToRight if width >= needed else directions.TopToBottom
        if wanted != self.direction():
            self.setDirection(wanted)
            self.update()
        super().setGeometry(rect)

    def _widths(self) -> list[int]:
        items = filter(None, map(self.itemAt, range(self.count())))
        return [item.minimumSize().width() for item in items if not item.isEmpty()]


def folding_row(*parts: Part, spacing: int = GRID, beside_from: int = 0) -> FoldingRow:
    """Return such a row."""
    return _filled(FoldingRow(beside_from), parts, spacing, 0)


def column(*parts: Part, spacing: int = GRID, margins: Margins = 0) -> QVBoxLayout:
    """Return the parts below one another."""
    return _filled(QVBoxLayout(), parts, spacing, margins)


def boxed(layout: QLayout) -> QWidget:
    """Return a widget with a layout."""
    made = QWidget()
    made.setLayout(layout)
    return made


def _filled(layout: Box, parts: Iterable[Part], spacing: int, margins: Margins) -> Box:
    layout.setSpacing(spacing)
    layout.setContentsMargins(*(margins if isinstance(margins, tuple) else (margins,) * 4))
    for part in parts:
        if isinstance(part, int):
            layout.addStretch(part)
            continue
        item, stretch = part if isinstance(part, tuple) else (part, 0)
        if isinstance(item, QLayout):
            layout.addLayout(item, stretch)
        else:
            layout.addWidget(item, stretch)
    return layout


def named(widget: Named, name: str, tooltip: str = "") -> Named:
    """Return a widget with its name for screen readers, and its tooltip."""
    widget.setAccessibleName(name)
    widget.setToolTip(tooltip)
    return widget


def label_for(text: str, control: QWidget) -> QLabel:
    """Return the label of a control; the letter after & in its text brings the focus there."""
    label = QLabel(text)
    label.setBuddy(control)
    return label


def centred_text(text: str = "") -> QLabel:
    """Return a quiet text in the middle: what an empty panel will show, and how to fill it."""
    label = quiet_label(text, wraps=True)
    label.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return label


def quiet_label(text: str = "", *, small: bool = False, wraps: bool = False) -> QLabel:
    """Return a label in the colour of notes; `small` takes their smaller font."""
    label = QLabel(text, wordWrap=wraps)
    if small:
        label.setFont(small_font())
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    return label


def form(spacing: int = HALF_GRID) -> QFormLayout:
    """Return an empty form without margins, whose fields take the width that there is."""
    made = QFormLayout(horizontalSpacing=GRID, verticalSpacing=spacing)
    made.setContentsMargins(0, 0, 0, 0)
    made.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return made


class NarrowBox(QComboBox):
    """A list that drops down, and asks for the width of so many characters, whatever its entries.

    Of a chosen entry that does not fit the end is left out; the list is as wide as its entries. `name` is for
    screen readers, `entries` are texts by their data; the first one is chosen.
    """

    chosen = Signal(object)  # the data of the entry that the person has chosen

    def __init__(
        self, name: str, tip: str, characters: int, entries: Mapping[Any, str] | None = None
    ) -> None:
        super().__init__(minimumContentsLength=characters)
        named(self, name, tip)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.activated.connect(lambda at: self.chosen.emit(self.itemData(at)))
        if entries:
            fill_box(self, entries, next(iter(entries)))

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        super().initStyleOption(option)
        parts, field = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        width = self.style().subControlRect(parts, option, field, self).width() - HALF_GRID
        mode = Qt.TextElideMode.ElideRight
        option.currentText = self.fontMetrics().elidedText(option.currentText, mode, width)

    def showPopup(self) -> None:
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 3 * GRID)
        super().showPopup()


def icon_button(icon_name: str, name: str, tooltip: str) -> QToolButton:
    """Return a small square button; `name` is for screen readers."""
    button = text_button(icon_name, "", name, tooltip)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
    button.setIconSize(QSize(_ICON_SIDE, _ICON_SIDE))
    button.setFixedSize(ICON_BUTTON_SIDE, ICON_BUTTON_SIDE)
    return button


def action_button(action: QAction) -> QToolButton:
    """Return a small square button of an action."""
    button = icon_button("", action.iconText(), "")
    button.setDefaultAction(action)
    button.setAccessibleName(action.iconText())
    return button


def menu_icon_button(icon_name: str, name: str, tooltip: str) -> QToolButton:
    """Return a small square button that opens its menu at once, without the arrow that would lie on it."""
    button = icon_button(icon_name, name, tooltip)
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setStyleSheet(NO_ARROW)
    return button


def text_button(icon_name: str, text: str, name: str, tooltip: str) -> QToolButton:
    """Return a button with its text beside its icon; `name` is for screen readers."""
    button = named(QToolButton(autoRaise=True), name, tooltip)
    button.setIcon(icon(icon_name))
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.setText(text)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    return button


def menu_button(text: str, name: str, tooltip: str, menu: QMenu) -> QToolButton:
    """Return a button that opens a menu at once; `name` is for screen readers."""
    button = named(QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup), name, tooltip)
    button.setText(text)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    # Fusion draws the arrow over the text without this.
    button.setMinimumWidth(button.sizeHint().width() + GRID + HALF_GRID)
    give_menu(button, menu)
    return button


def give_menu(button: QToolButton, menu: QMenu) -> None:
    """Open a menu with a button."""
    menu.setParent(button, menu.windowFlags())
    menu.setToolTipsVisible(True)
    button.setMenu(menu)


def close_box(dialog: QDialog) -> QDialogButtonBox:
    """Return the row of buttons of a dialog that is only closed."""
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    box.button(QDialogButtonBox.StandardButton.Close).setToolTip("Close this window (Esc).")
    box.rejected.connect(dialog.reject)
    return box


# QScrollArea with `widgetResizable` decides by the width that its content has just now. A content whose
# height follows its width keeps a scroll bar there that it no longer needs, or resizes itself without end.
# Here the size of the content follows from the room alone.
_NEVER = Qt.ScrollBarPolicy.ScrollBarAlwaysOff


class ScrollArea(QScrollArea):
    """Its content fills it, or has the least height with which it is whole at its width."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self._content = content
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(content)

    def sizeHint(self) -> QSize:
        return self._content.sizeHint()

    @property
    def least_size(self) -> QSize:
        """The least size of the content at any width."""
        return self._content.minimumSizeHint().expandedTo(self._content.minimumSize())

    def least_height(self, width: int) -> int:
        """Return the least height of the content at a width."""
        content, least = self._content, self.least_size.height()
        layout = content.layout()
        if layout is not None and layout.hasHeightForWidth():
            return max(least, layout.minimumHeightForWidth(width))
        return max(least, content.heightForWidth(width)) if content.hasHeightForWidth() else least

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        # The content as a whole needs another size.
        if event.type() == QEvent.Type.LayoutRequest:
            self.follow_content()
        return handled

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Something in the content does.
        if watched is self._content and event.type() == QEvent.Type.LayoutRequest:
            self.follow_content()
        return super().eventFilter(watched, event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._place()

    def follow_content(self) -> None:
        """Adopt what the content needs now; what is hidden does once it is shown, as in Qt's layouts."""
        if self.isVisible():
            self._place()

    def _place(self) -> None:
        area, least = self.maximumViewportSize(), self.least_size
        bar = self.verticalScrollBar().sizeHint().width()
        if least.width() > area.width() and self.horizontalScrollBarPolicy() != _NEVER:
            area.setHeight(area.height() - self.horizontalScrollBar().sizeHint().height())
        width = area.width()
        if self.least_height(width) > area.height():
            if self.least_height(width - bar) > area.height():
                width -= bar
            else:
                # A picture is less high where it is less wide: it is in view whole without a scroll bar.
                narrower = range(width, width - bar, -1)
                width = next((w for w in narrower if self.least_height(w) <= area.height()), width - bar)
        width = max(width, least.width())
        self._content.resize(width, max(area.height(), self.least_height(width)))


def scrolled(content: QWidget) -> ScrollArea:
    """Return the content in an area as wide as it needs, which scrolls up and down."""
    area = ScrollArea(content)

    def fit() -> None:
        needed = content.minimumSizeHint().width() + area.verticalScrollBar().sizeHint().width()
        least, if_cut = at_usual_letters(needed), Qt.ScrollBarPolicy.ScrollBarAsNeeded
        area.setHorizontalScrollBarPolicy(_NEVER if least == needed else if_cut)
        area.setMinimumWidth(least)

    follow_letters(area, fit)
    return area


class PlaceholderStack(QStackedWidget):
    """A widget, or a quiet text in its place while there is one to say, with the action that helps."""

    def __init__(self, widget: QWidget, text: str = "") -> None:
        super().__init__()
        self.label = centred_text()
        self.button = QToolButton()
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.button.setVisible(False)
        card = boxed(column(1, self.label, row(1, self.button, 1), 1, margins=GRID))
        card.setAutoFillBackground(True)
        card.setBackgroundRole(QPalette.ColorRole.Base)
        self.addWidget(widget)
        self.addWidget(scrolled(card))
        self.say(text)

    @property
    def text(self) -> str:
        """What is shown instead of the widget; empty where that is shown."""
        return self.label.text() if self.currentIndex() else ""

    def minimumSizeHint(self) -> QSize:
        # The text stands in the middle of the panel, however much room the widget would need.
        shown = self.currentWidget()
        return shown.minimumSizeHint() if shown is not None else super().minimumSizeHint()

    def say(self, text: str) -> None:
        """Show a text, or the widget for none."""
        if text:
            self.label.setText(text)
        self.setCurrentIndex(int(bool(text)))

    def offer(self, action: QAction) -> None:
        self.button.setDefaultAction(action)
        self.button.setVisible(True)


def fill_box(box: QComboBox, entries: Mapping[Any, str], chosen: object, *, heads: str = "") -> None:
    """List texts by their data, and show the chosen one; no signal is emitted.

    Entries whose data begins with `heads` stand over others and cannot be chosen.
    """
    with QSignalBlocker(box):
        if list(entries.items()) != [(box.itemData(at), box.itemText(at)) for at in range(box.count())]:
            box.clear()
            for data, text in entries.items():
                box.addItem(text, data)
                model = box.model()
                if heads and data.startswith(heads) and isinstance(model, QStandardItemModel):
                    model.item(box.count() - 1).setFlags(Qt.ItemFlag.NoItemFlags)
        box.setCurrentIndex(list(entries).index(chosen) if chosen in entries else -1)


def choices_of(box: QComboBox) -> list[QAction]:
    """Return an action for each entry of a box, for the command palette."""

    def choose(at: int) -> None:
        box.setCurrentIndex(at)
        box.activated.emit(at)

    actions = [QAction(box.itemText(at), box) for at in range(box.count())]
    for at, action in enumerate(actions):
        action.setData(box.accessibleName())
        action.setToolTip(box.itemData(at, Qt.ItemDataRole.ToolTipRole) or "")
        action.triggered.connect(lambda _checked=False, at=at: choose(at))
    return actions


class VerdictLabel(QLabel):
    """Says quietly what was read, or in the colour of errors why that cannot be taken."""

    def __init__(self) -> None:
        super().__init__(wordWrap=True)

    def say(self, sentence: str, *, is_bad: bool = False) -> None:
        role = QPalette.ColorRole
        self.setForegroundRole(role.BrightText if is_bad else role.PlaceholderText)
        self.setText(sentence)


class RefusalLabel(VerdictLabel):
    """Says in the colour of errors why a text is refused; hidden while there is no reason."""

    def __init__(self) -> None:
        super().__init__()
        self.say("")

    def say(self, sentence: str, *, is_bad: bool = True) -> None:
        """Show a sentence, with a capital first; none hides the label."""
        super().say(sentence[:1].upper() + sentence[1:], is_bad=is_bad)
        self.setVisible(bool(sentence))
