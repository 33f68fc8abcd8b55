"""What the library of masks lists: own masks, generators and presets in their groups. No widgets in here."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from engine.errors import EngineError, MaskError
from engine.mask.generator_table import GENERATORS, Generator
from engine.mask.generators import generate
from engine.mask.mask import MAX_NAME_CHARACTERS, Mask
from engine.mask.presets import presets
from engine.mask.text import load_mask, save_mask

# More files are not read: whoever keeps so many looks for them by their names in a folder of their own.
_MOST = 500


def default_folder() -> Path:
    """Return where own masks are kept."""
    return Path(platformdirs.user_data_dir("haloscope", appauthor=False)) / "masks"


@dataclass(frozen=True)
class OwnMask:
    """A mask that was kept, and its file."""

    path: Path
    mask: Mask


class OwnMasks:
    """Reads, saves and deletes them; what cannot be done is said by an EngineError."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()

    def read(self) -> tuple[list[OwnMask], list[str]]:
        """Return the masks by their names, and of each file that is none why."""
        found, faults = [], []
        for path in sorted(self.folder.glob("*.json"))[:_MOST] if self.folder.is_dir() else ():
            try:
                found.append(OwnMask(path, load_mask(path)))
            except EngineError as error:
                faults.append(str(error))
        return sorted(found, key=lambda own: own.mask.name.casefold()), faults

    def save(self, mask: Mask, name: str) -> OwnMask:
        """Keep a mask under a name that no other one has."""
        name = self._checked(name)
        with suppress(OSError):
            # What is wrong with the folder, writing the file says.
            self.folder.mkdir(parents=True, exist_ok=True)
        stem = "-".join(re.findall(r"\w+", name.lower()))[:60] or "mask"
        taken = (f"{stem}-{number}.json" for number in range(2, _MOST))
        names = (self.folder / each for each in (f"{stem}.json", *taken))
        path = next(path for path in names if not path.exists())
        return self._write(OwnMask(path, mask.with_name(name)))

    def delete(self, own: OwnMask) -> None:
        """Remove the file of a mask; `restore` brings it back."""
        try:
            own.path.unlink(missing_ok=True)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise MaskError(f"{own.mask.name!r} was not deleted", why, "Delete its file yourself.") from error

    def restore(self, own: OwnMask) -> OwnMask:
        """Write the file of a mask again."""
        return self._write(own)

    def _write(self, own: OwnMask) -> OwnMask:
        save_mask(own.mask, own.path)
        return own

    def _checked(self, name: str) -> str:
        name = " ".join(name.split())
        what = "The mask was not kept"
        if not name:
            raise MaskError(what, "it has no name", "Type a name for it.")
        if len(name) > MAX_NAME_CHARACTERS:
            why = f"its name has {len(name)} characters, and at most {MAX_NAME_CHARACTERS} are taken"
            raise MaskError(what, why, "Shorten it.")
        if any(own.mask.name.casefold() == name.casefold() for own in self.read()[0]):
            raise MaskError(what, f"one of your masks is called {name!r}", "Choose another name.")
        return name


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
