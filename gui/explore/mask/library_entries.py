"""What the library of masks lists: own masks, generators and presets in their groups. No widgets in here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.errors import EngineError
from engine.mask.generator_table import GENERATORS, Generator
from engine.mask.generators import generate
from engine.mask.mask import Mask
from engine.mask.presets import presets
from gui.explore.mask.own_masks import OwnMask

OWN, GENERATED = "Yours", "From a few numbers, with sliders"


@dataclass(frozen=True)
class LibraryEntry:
    """A mask that can be chosen; `generator` and `own` say what else can be done with it."""

    group: str
    title: str
    about: str
    mask: Mask
    key: str = ""
    generator: Generator | None = None
    own: OwnMask | None = None

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether each of some lower-case words stands in one of its texts."""
        text = f"{self.title} {self.key} {self.group} {self.about}".lower()
        return all(word in text for word in words)


def library_entries(own: Iterable[OwnMask]) -> list[LibraryEntry]:
    """Return all entries in their order; without presets where their file is damaged."""
    entries = [
        LibraryEntry(OWN, one.mask.name, f"{one.mask.rows} × {one.mask.columns} cells", one.mask, own=one)
        for one in own
    ]
    for generator in GENERATORS.values():
        mask = generate(generator.example)
        assert mask is not None
        key = generator.form
        entries.append(LibraryEntry(GENERATED, generator.title, generator.about, mask, key, generator))
    try:
        ready = presets()
    except EngineError:
        ready = ()
    return entries + [LibraryEntry(one.group, one.title, one.teaches, one.mask, one.key) for one in ready]


def found_entries(entries: Iterable[LibraryEntry], text: str) -> list[LibraryEntry]:
    """Return the entries that have every word of a search; those whose title has them come first."""
    words = text.lower().replace("×", "x").split()
    found = [entry for entry in entries if entry.matches(words)]
    if not words:
        return found
    return sorted(found, key=lambda entry: not all(word in entry.title.lower() for word in words))
