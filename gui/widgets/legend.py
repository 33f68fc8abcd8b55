"""What marks and colours mean, in words: in lines that break between the entries."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from PySide6.QtWidgets import QLabel, QSizePolicy

from gui.style.metrics import small_font


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A mark in its colour ("#rrggbb"), on a ground of its own if it has one, and what it means."""

    text: str
    colour: str
    mark: str = "■"
    ground: str = ""


def legend_html(entries: Iterable[LegendEntry]) -> str:
    """Return the entries as rich text."""
    return "&nbsp;&nbsp; ".join(
        f"<span style='color: {one.colour}; background: {one.ground or 'transparent'}'>"
        f"{one.mark or '&nbsp;&nbsp;&nbsp;'}</span>&nbsp;{escape(one.text).replace(' ', '&nbsp;')}"
        for one in entries
    )


class Legend(QLabel):
    """Shows `entries`, and never widens its panel."""

    def __init__(self, name: str) -> None:
        super().__init__(wordWrap=True)
        self.entries: Sequence[LegendEntry] = ()
        self.setFont(small_font())
        policy = self.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Ignored)
        self.setSizePolicy(policy)
        self.setAccessibleName(name)

    def show_entries(self, entries: Sequence[LegendEntry]) -> None:
        """Show other entries."""
        self.entries = entries
        self.setText(legend_html(entries))
        self.setAccessibleDescription(", ".join(one.text for one in entries))
