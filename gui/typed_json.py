"""JSON of files that may be damaged or newer, as types: what fits is taken, the rest put into sentences."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

# No file has such characters in its name: NUL, and halves of a pair that JSON can write but for those that
# stand for bytes which are no UTF-8.
Text = Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[^\0\ud800-\udc7f\udd00-\udfff]*$")]
"""A text, a path or a key; not as long as a book."""
Table = Mapping[str, Any]
_MOST_NOTES = 4
_SHOWN = 40


class Reading:
    """Takes values of one document, and notes in a sentence each what cannot be used."""

    def __init__(self) -> None:
        self._notes: dict[str, int] = {}

    def note(self, sentence: str) -> None:
        """Note something; what is noted several times is reported once."""
        self._notes[sentence] = self._notes.get(sentence, 0) + 1

    def leave_out(self, what: str, why: object) -> None:
        """Note that something is left out, and why: an error, or words."""
        words = getattr(why, "why", "") or str(why).partition(" - at")[0].partition("\n")[0] or "damaged"
        self.note(f"Its {what} was left out: {words.rstrip('.')}.")

    def fields(self, table: Table, kinds: Mapping[str, Any], of: str = "") -> dict[str, Any]:
        """Return the values that are of their kinds, by name; `of` says whose they are: " of a step"."""
        values = {}
        for name, value in table.items():
            if name not in kinds:
                self.note(f'Its "{name[:_SHOWN]}"{of} is not known to this version of Haloscope.')
                continue
            try:
                values[name] = msgspec.convert(value, Text if kinds[name] is str else kinds[name])
            except (msgspec.ValidationError, OverflowError) as error:
                shown = msgspec.json.encode(value).decode()[:_SHOWN]
                self.leave_out(f'"{name}"{of}, {shown},', error)
        return values

    @property
    def notes(self) -> tuple[str, ...]:
        noted = self._notes.items()
        return tuple(words if times == 1 else f"{words} ({times} times)" for words, times in noted)


def in_short(notes: Sequence[str]) -> str:
    """Return the first of many sentences, and how many more there are."""
    more = len(notes) - _MOST_NOTES
    return " ".join(notes[:_MOST_NOTES]) + (f" And {more} more." if more > 0 else "")
