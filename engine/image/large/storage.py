"""How a picture is stored: what a result of the same kind takes over from its source."""

from dataclasses import dataclass, field
from typing import Any

# Sides of tiles and chunks where the source has none, or strange ones.
_SIDE = 512
_MOST_SIDE = 4096


@dataclass(frozen=True, slots=True)
class Storage:
    """How a picture is stored.

    Parameters
    ----------
    kind : {"tiff", "zarr", "npy"}
    chunk : (int, int)
        Rows and columns of a tile, of a strip (which has all columns), or of a chunk.
    is_tiled : bool
        False for strips and rows.
    compression : str
        "none", "deflate", "lzw", "zstd", "packbits", "lzma" of a TIFF; others are written as deflate.
    has_predictor : bool
        Whether differences of neighbours are compressed.
    planes : {"contiguous", "separate", "pages"}
        Where the channels of a TIFF are: beside one another, in planes of one page, or each on a page.
    smallest : (int, int), optional
        Rows and columns of the last level of a pyramid; None without one.
    is_big, is_ome : bool
        Whether it is a BigTIFF; an OME-TIFF or OME-Zarr.
    details : dict
        What else a writer of the same kind keeps: tags of a TIFF; axes, codecs and attributes of a Zarr. Of a
        TIFF also the `metadata` that it gets.
    """

    kind: str
    chunk: tuple[int, int]
    is_tiled: bool = True
    compression: str = "none"
    has_predictor: bool = False
    planes: str = "contiguous"
    smallest: tuple[int, int] | None = None
    is_big: bool = False
    is_ome: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def rows_at_once(self) -> int:
        """Rows that are written together."""
        return int(self.details.get("rows_at_once", self.chunk[0]))


def storage_of_result(source: Storage, kind: str, width: int) -> Storage:
    """Return how a result is stored: as its source where both are of one kind, else in tiles or chunks."""
    if source.kind == kind:
        return source
    if kind == "npy":
        return Storage("npy", (1, width), is_tiled=False)
    down, across = (_side(side) if source.is_tiled else _SIDE for side in source.chunk)
    compression = "zstd" if kind == "zarr" else "none" if source.compression == "none" else "deflate"
    return Storage(kind, (down, across), compression=compression, smallest=source.smallest)


def _side(given: int) -> int:
    """Return a side of a tile, of which TIFF wants multiples of 16."""
    return min(-(-given // 16) * 16, _MOST_SIDE)


def level_shapes(height: int, width: int, smallest: tuple[int, int] | None) -> tuple[tuple[int, int], ...]:
    """Return the rows and columns of the levels of a pyramid, each half of the one before."""
    shapes = [(height, width)]
    while smallest is not None and (shapes[-1][0] > smallest[0] * 1.5 or shapes[-1][1] > smallest[1] * 1.5):
        shapes.append((-(-shapes[-1][0] // 2), -(-shapes[-1][1] // 2)))
    return tuple(shapes)
