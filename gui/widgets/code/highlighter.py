"""Colours of words: keywords, texts, comments and numbers of Python, the instructions of PTX and SASS."""

import keyword
import re
from collections.abc import Iterable, Sequence

from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from gui.style.theme import Theme, current_theme, theme_notifier
from gui.widgets.code.rows import Look, Row

# Each name is a field of the theme.
_PYTHON = re.compile(
    r"(?P<muted>#.*)"
    r"|(?P<good>\"\"\".*?(?:\"\"\"|$)|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    rf"|(?P<accent>\b(?:{'|'.join(keyword.kwlist)})\b|^\s*@\w[\w.]*)"
    r"|(?P<warning>\b\d[\w.]*)"
)
_ASSEMBLY = re.compile(
    r"(?P<muted>//.*|^\s*\.[a-z]\w*)"
    r"|(?P<good>\$\w+|\.L\w+)"
    r"|^[\s{]*(?:@!?%?\w+\s+)?(?P<accent>[a-zA-Z][\w.:]*)(?=[\s;])"
    r"|(?P<warning>(?<![\w%])(?:0[xf])?\d[0-9a-fA-F]*\b)"
)
_QUOTES = '"""'


class Highlighter(QSyntaxHighlighter):
    """Colours the rows in sight, by their looks and their language: 2,500 at once would take 50 ms."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._rows: Sequence[Row] = ()
        self._words = _PYTHON
        # Rows that begin within a docstring, and those that have their colours.
        self._inside: set[int] = set()
        self._coloured: set[int] = set()
        self._formats: dict[str, QTextCharFormat] = {}
        self._take_theme(current_theme())
        theme_notifier().changed.connect(self._follow_theme)

    def take(self, rows: Sequence[Row], *, is_python: bool) -> None:
        """Note what the document is going to show."""
        self._rows = rows
        self._words = _PYTHON if is_python else _ASSEMBLY
        self._inside, self._coloured = set(), set()
        is_inside = False
        for number, row in enumerate(rows if is_python else ()):
            # Each function is whole.
            is_inside = is_inside and row.look is not Look.HEADING
            if is_inside:
                self._inside.add(number)
            is_inside = is_inside != bool(row.text.count(_QUOTES) % 2)

    def colour(self, numbers: Iterable[int]) -> None:
        """Colour rows that are in sight."""
        for number in numbers:
            if number not in self._coloured:
                self._coloured.add(number)
                self.rehighlightBlock(self.document().findBlockByNumber(number))

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if number not in self._coloured or number >= len(self._rows):
            return
        look = self._rows[number].look
        if look in (Look.HEADING, Look.GAP):
            self.setFormat(0, len(text), self._formats[look])
        elif number in self._inside:
            self.setFormat(0, len(text), self._formats["good"])
        else:
            for found in self._words.finditer(text):
                name = found.lastgroup or ""
                begin, end = found.span(name)
                self.setFormat(begin, end - begin, self._formats[name])

    def _follow_theme(self, theme: Theme) -> None:
        self._take_theme(theme)
        self.rehighlight()

    def _take_theme(self, theme: Theme) -> None:
        for name in ("muted", "good", "accent", "warning"):
            self._formats[name] = made = QTextCharFormat()
            made.setForeground(QColor(getattr(theme, name)))
        for look, colour in ((Look.HEADING, theme.text), (Look.GAP, theme.muted)):
            self._formats[look] = made = QTextCharFormat()
            made.setForeground(QColor(colour))
        self._formats[Look.HEADING].setFontWeight(QFont.Weight.Bold)
