"""Metadata of a picture: the orientation is used when it is opened, EXIF data and resolution are kept.

What else a file says no saved picture keeps; it has names here, so that a note can say it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

# 72 and 96 are what programs write that know of none.
_NO_RESOLUTION = (72, 96)

EXIF_MARK = b"Exif\0\0"
# A JPEG holds 64 KB. Of more than this the rest is dropped, and named as damaged when it is saved.
MOST_EXIF_BYTES = 2**20

XMP, IPTC, COMMENT, OME = "XMP", "IPTC data", "comment", "OME metadata"
# Keywords, and tags without a name, that are listed; of more their number is said.
_MOST_LISTED = 4


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a file says beside pixels and colour profile, which a saved picture keeps where its format can.

    `exif` is EXIF data as the file has it, without a marker; empty: none. `dpi` is pixels per inch, across
    and down; None where the file does not say. `left_out` names what else it says, which no saved picture
    keeps.
    """

    exif: bytes = b""
    dpi: tuple[float, float] | None = None
    left_out: tuple[str, ...] = ()
    # That of the JPEG, about; 0 where it was none. It goes into no file.
    quality: int = field(default=0, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """What there is, in words; a resolution that says nothing is not counted."""
        has_resolution = self.dpi is not None and round(self.dpi[0]) not in _NO_RESOLUTION
        return (*(("EXIF data",) if self.exif else ()), *(("resolution (DPI)",) if has_resolution else ()))


NO_METADATA = Metadata()


def metadata_of(
    exif: bytes | None = None,
    dpi: "tuple[float, float] | None" = None,
    left_out: tuple[str, ...] = (),
) -> Metadata:
    """Return EXIF data, with or without its marker, a resolution, if it is one, and what else there is."""
    block = (exif or b"").removeprefix(EXIF_MARK)[:MOST_EXIF_BYTES]
    is_resolution = dpi is not None and all(0.5 <= float(one) < 2**16 for one in dpi)
    resolution = (float(dpi[0]), float(dpi[1])) if dpi is not None and is_resolution else None
    return Metadata(block, resolution, left_out)


def note_of_first(count: int, kind: str) -> tuple[str, ...]:
    """Return a note that only the first of several frames or pages was opened; -1: others are damaged."""
    if count < 0:
        return (f"The first {kind} was opened; the {kind}s after it are damaged.",)
    return (f"It has {count:,} {kind}s; the first was opened.",) if count > 1 else ()


def sentence_on(names: Iterable[str]) -> tuple[str, ...]:
    """Return a note that names what is not saved; none where there is nothing."""
    listed = ", ".join(names)
    return (f"Not saved of what the opened file says: {listed}.",) if listed else ()


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return names, each once; empty ones are of what needs no word."""
    return tuple(dict.fromkeys(filter(None, names)))


def listed(names: Iterable[str]) -> str:
    """Join the first names, and say how many more there are."""
    found = list(names)
    more = len(found) - _MOST_LISTED
    return ", ".join(found[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
