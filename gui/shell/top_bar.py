"""The top bar: the page's tools, the name of the document, Run and Cancel."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QMenu, QSizePolicy, QToolButton

from gui.page.actions import Actions
from gui.page.contract import Page, Tool
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import row


class TopBar(QFrame):
    """Buttons for a page's most important actions."""

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self.caption = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.caption.setForegroundRole(QPalette.ColorRole.WindowText)
        self.caption.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.caption.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.caption.setAccessibleName("Document")
        # Made once for each page: Qt for Python ends an action with the button that it is the action of.
        self._tools: dict[Page, list[QToolButton]] = {}
        self._row = row((self.caption, 1), spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, HALF_GRID))
        self.setLayout(self._row)
        # On every page, so that they do not move.
        run, self._run_all, cancel = (_button(Tool(actions[name])) for name in ("run", "run_all", "cancel"))
        for button, look in ((run, "primary"), (self._run_all, "primaryPart")):
            button.setObjectName(look)
            # On the accent colour, an icon in the colour of text would hardly be seen.
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self._run = run
        # One button in two parts.
        self._row.addLayout(row(run, self._run_all, spacing=0))
        self._row.addWidget(cancel)

    def show_page(self, page: Page) -> None:
        """Show the tools of a page."""
        if page not in self._tools:
            self._tools[page] = [_button(tool) for tool in page.tools]
            for position, button in enumerate(self._tools[page]):
                self._row.insertWidget(position, button)
        for other, buttons in self._tools.items():
            for button in buttons:
                button.setVisible(other is page)
        has_both = bool(page.status.run_all_does)
        self._run_all.setVisible(has_both)
        if self._run.property("hasPart") != has_both:
            self._run.setProperty("hasPart", has_both)
            self._run.style().unpolish(self._run)
            self._run.style().polish(self._run)


def _button(tool: Tool) -> QToolButton:
    action = tool.action
    button = QToolButton(autoRaise=True)
    button.setDefaultAction(action)
    if tool.choices:
        menu = QMenu(button)
        menu.addActions(tool.choices)
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
    button.setIconSize(QSize(2 * GRID + 2, 2 * GRID + 2))
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    return button
