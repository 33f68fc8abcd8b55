"""Colours of words: keywords, texts, comments and numbers of Python, the instructions of PTX and SASS."""

import keyword
import re
from collections.abc import Sequence

from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from gui.explore.code.code_rows import Look, Row
from gui.style.theme import Theme, current_theme, theme_notifier

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
    """Colours the rows that a document shows, by their looks and their language."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._rows: Sequence[Row] = ()
        self._words = _PYTHON
        self._formats: dict[str, QTextCharFormat] = {}
        self._take_theme(current_theme())
        theme_notifier().changed.connect(self._follow_theme)

    def take(self, rows: Sequence[Row], *, is_python: bool) -> None:
        """Note what the document is going to show."""
        self._rows = rows
        self._words = _PYTHON if is_python else _ASSEMBLY

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        look = self._rows[number].look if number < len(self._rows) else Look.CODE
        # Whether the row ends within a docstring.
        is_inside = self.previousBlockState() == 1
        quotes = text.count(_QUOTES) if self._words is _PYTHON else 0
        self.setCurrentBlockState(int(is_inside != bool(quotes % 2)))
        if look in (Look.HEADING, Look.GAP):
            self.setFormat(0, len(text), self._formats[look])
            self.setCurrentBlockState(0)
        elif is_inside:
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
