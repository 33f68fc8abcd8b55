"""OME-Zarr (0.4 on Zarr 2, 0.5 on Zarr 3) and plain Zarr arrays in a folder, through the package `zarr`."""

import itertools
import math
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.image.array_types import converted, sample_type
from engine.image.faults import Refused
from engine.image.large.segments import DEFAULT_CACHE_BYTES, SegmentedPicture
from engine.image.large.source import MOST_CHANNELS
from engine.image.large.storage import Storage

INSTALL = "Install it: pip install 'haloscope[zarr]'."
_AXES = {"t": "times", "z": "depths"}


def zarr_package() -> Any:
    """Return the package `zarr`, which is loaded with the first such picture; Refused where it is missing."""
    try:
        return import_module("zarr")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("zarr", "numcodecs"):
            raise
        raise Refused("it is a Zarr folder, and the package zarr is not installed", INSTALL) from error


class ZarrPicture(SegmentedPicture):
    """A Zarr array, or the arrays of an OME-Zarr's levels."""

    def __init__(self, path: Path, arrays: "list[_Level]", threads: int | None, cache_bytes: int) -> None:
        super().__init__(threads, cache_bytes)
        self.path, self._arrays = path, arrays
        first = arrays[0]
        self.dtype, notes = sample_type(np.dtype(first.array.dtype))
        self.channels = first.channels
        self.levels = tuple(level.shape for level in arrays)
        self.chunk = first.chunk
        version = first.array.metadata.zarr_format
        self.format = f"{'OME-Zarr' if first.is_ome else 'Zarr'} {version}"
        self.storage = _storage(arrays)
        self._found = dict.fromkeys((*first.notes, *notes))
        self._missing: set[tuple[int, int, int]] = set()

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """What was special about the store, and about the parts of it that were read."""
        count = len(self._missing)
        holes = (f"{count:,} of the chunks that were read are not stored and are the fill value.",)
        return (*self._found, *(holes if count else ()))

    def segment_shape(self, level: int) -> tuple[int, int]:
        """Return rows and columns of the chunks of a level."""
        return self._arrays[level].chunk

    def _decode(self, level: int, row: int, column: int) -> NDArray[Any]:
        stored = self._arrays[level]
        (height, width), (down, across) = stored.shape, stored.chunk
        rows = slice(row * down, min((row + 1) * down, height))
        columns = slice(column * across, min((column + 1) * across, width))
        missing = stored.missing(row, column)
        if missing:
            if stored.array.metadata.fill_value is None:
                raise Refused(
                    f"its chunk {missing} is missing, and it names no value to fill it with",
                    "Get the store again, as a whole.",
                )
            self._missing.add((level, row, column))
        return converted(stored.read(rows, columns), self.dtype)

    def close(self) -> None:
        """Close the store; nothing is read after that."""
        super().close()


class _Level:
    """An array of a store, seen as rows, columns and channels: the first of all times and depths."""

    def __init__(self, array: Any, axes: str, folder: Path, attributes: dict[str, Any] | None = None) -> None:
        self.array, self.attributes, self.is_ome = array, attributes or {}, attributes is not None
        if array.ndim != len(axes):
            raise Refused(f"an array of it has {array.ndim} axes, its metadata names {len(axes)}")
        if 0 in array.shape:
            raise Refused(f"an array of shape {tuple(array.shape)} has no pixel", "Save one that has.")
        self.axes = axes
        self._y, self._x, self._c = axes.index("y"), axes.index("x"), axes.find("c")
        self.shape = int(array.shape[self._y]), int(array.shape[self._x])
        self.chunk = int(array.chunks[self._y]), int(array.chunks[self._x])
        self.notes: list[str] = []
        self.channels = int(array.shape[self._c]) if self._c >= 0 else 1
        if self.channels > MOST_CHANNELS:
            self.notes.append(f"It has {self.channels} channels; the first was opened.")
            self.channels = 1
        others = [
            f"{size:,} {_AXES.get(axis, f'places along {axis}')}"
            for axis, size in zip(axes, array.shape, strict=True)
            if axis not in "yxc" and size > 1
        ]
        if others:
            self.notes.append(f"It has {' and '.join(others)}; the first was opened.")
        self._folder = folder
        # What the store keeps in a file: a chunk, or a shard of several.
        self.stored = tuple(map(int, array.shards or array.chunks))

    def read(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Return the stored values of a rectangle, (rows, columns, channels)."""
        where: list[Any] = [0] * self.array.ndim
        where[self._y], where[self._x] = rows, columns
        if self._c >= 0:
            where[self._c] = slice(0, self.channels)
        values = np.asarray(self.array[tuple(where)])
        left = [axis for axis in self.axes if axis in "yxc"]
        values = np.transpose(values, [left.index(axis) for axis in "yxc" if axis in left])
        if self._c < 0:
            return values[..., np.newaxis]
        # Plane by plane: a fifth of the time of the copy of a transposed array.
        together = np.empty(values.shape, values.dtype)
        for channel in range(values.shape[2]):
            together[..., channel] = values[..., channel]
        return together

    def missing(self, row: int, column: int) -> str:
        """Return the name of a file that a chunk should be in and is not; empty where all are there."""
        for key in self.keys(row, column):
            if not os.path.exists(self._folder / key):
                return key
        return ""

    def keys(self, row: int, column: int) -> list[str]:
        """Return the names of the files that hold a chunk of all channels."""
        metadata = self.array.metadata
        wanted = [range(1)] * self.array.ndim
        for axis, number in ((self._y, row * self.chunk[0]), (self._x, column * self.chunk[1])):
            wanted[axis] = range(number // self.stored[axis], number // self.stored[axis] + 1)
        if self._c >= 0:
            wanted[self._c] = range(math.ceil(self.channels / self.stored[self._c]))
        return [metadata.encode_chunk_key(place) for place in itertools.product(*wanted)]


def _storage(levels: list[_Level]) -> Storage:
    """Return how a store is laid out, for a result like it: of its first time and depth."""
    first = levels[0]
    array, metadata = first.array, first.array.metadata
    details: dict[str, Any] = {
        "zarr_format": metadata.zarr_format,
        "axes": first.axes,
        "is_array": not first.is_ome,
        "chunks": tuple(map(int, array.chunks)),
        "compressors": array.compressors,
        "attributes": first.attributes,
    }
    if metadata.zarr_format == 2:
        details["chunk_key_encoding"] = {"name": "v2", "separator": metadata.dimension_separator}
    if array.shards:
        details["shards"] = first.stored
    details["rows_at_once"] = first.stored[first.axes.index("y")]
    compression = "zstd" if array.compressors else "none"
    smallest = levels[-1].shape if len(levels) > 1 else None
    return Storage(
        "zarr", first.chunk, compression=compression, smallest=smallest, is_ome=first.is_ome, details=details
    )


def open_zarr(
    path: Path, *, threads: int | None = None, cache_bytes: int = DEFAULT_CACHE_BYTES
) -> ZarrPicture:
    """Open an OME-Zarr or a Zarr array for reading in parts; raises Refused, or what the library raises."""
    zarr = zarr_package()
    try:
        node = zarr.open(str(path), mode="r")
    except Exception as error:
        _refuse_codec(error)
        raise Refused(
            "its Zarr metadata is missing or damaged", "Get the store again, as a whole."
        ) from error
    try:
        levels = _array_levels(node, path) if hasattr(node, "shape") else _ome_levels(node, path)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        _refuse_codec(error)
        raise Refused("its OME-Zarr metadata is damaged", "Get the store again, as a whole.") from error
    return ZarrPicture(path, levels, threads, cache_bytes)


def _refuse_codec(error: Exception) -> None:
    text = " ".join(str(error).split())
    if "codec" in text.lower():
        raise Refused(
            f"a codec that it needs is not there ({text})",
            "Install the package that has it (numcodecs has most), or save it with zstd.",
        ) from error


def _array_levels(array: Any, path: Path) -> list[_Level]:
    axes = {2: "yx", 3: "yxc"}.get(array.ndim)
    names = [str(name).lower() for name in getattr(array.metadata, "dimension_names", None) or ()]
    if len(names) == array.ndim and {"y", "x"} <= set(names) and all(len(name) == 1 for name in names):
        axes = "".join(names)
    if axes is None or (axes == "yxc" and array.shape[2] > MOST_CHANNELS):
        raise Refused(
            f"its shape is {tuple(array.shape)}; a picture is rows × columns, or rows × columns × 1 to "
            f"{MOST_CHANNELS}",
            "Name its axes (dimension_names), or save it as an OME-Zarr.",
        )
    return [_Level(array, axes, path)]


def _ome_levels(group: Any, path: Path) -> list[_Level]:
    attributes = dict(group.attrs)
    named = attributes.get("ome", attributes)
    multiscales = named.get("multiscales")
    if not multiscales:
        arrays = sorted(name for name, _ in group.arrays())
        found = f"; its arrays: {', '.join(arrays[:8])}" if arrays else ""
        raise Refused(
            f"it is a group of arrays and no OME-Zarr: it names no multiscales{found}",
            "Choose the folder of one of its arrays, or of a picture within it.",
        )
    first = multiscales[0]
    axes = "".join(
        (axis if isinstance(axis, str) else axis["name"]).lower()[:1] for axis in first.get("axes", "tczyx")
    )
    if not {"y", "x"} <= set(axes) or len(set(axes)) < len(axes):
        raise Refused(f"its axes are {axes!r}; a picture has y and x")
    levels: list[_Level] = []
    for dataset in first["datasets"]:
        name = str(dataset["path"])
        try:
            array = group[name]
        except KeyError as error:
            raise Refused(f"its level {name!r} is missing", "Get the store again, as a whole.") from error
        if not hasattr(array, "shape"):
            raise Refused(f"its level {name!r} is a group and no array", "Get the store again, as a whole.")
        level = _Level(array, axes, path / name, named)
        if levels and (level.channels != levels[0].channels or array.dtype != levels[0].array.dtype):
            break
        if not levels or (level.shape < levels[-1].shape):
            levels.append(level)
    return levels
