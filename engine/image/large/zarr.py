"""OME-Zarr (0.4 on Zarr 2, 0.5 on Zarr 3) and plain Zarr arrays in a folder.

OME-Zarr (0.4, on Zarr 2) is written through the package `zarr`.
"""

import json
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np

from engine.errors import EngineError
from engine.files.reading import Json
from engine.image.convert import converted, sample_type
from engine.image.faults import Refused
from engine.image.format import MOST_CHANNELS
from engine.image.large.result import LargeResult, PartDamaged, PartFolder, check_file
from engine.image.large.source import SegmentedPicture, Storage
from engine.image.large.zarr_store import AGAIN, StoredArray, StoreFiles, node_in
from engine.image.metadata import note_of_axes, unique

# A picture of 2^31 pixels a side has 32 levels down to one pixel.
_MOST_LEVELS = 64


class ZarrPicture(SegmentedPicture):
    """A Zarr array, or those of the levels of an OME-Zarr, whose `attributes` it has.

    It is seen as rows, columns and channels: the first of all times and depths.
    """

    def __init__(
        self, path: Path, arrays: list[StoredArray], axes: str, attributes: Json | None = None
    ) -> None:
        super().__init__()
        self.path, self._arrays, self._axes, first = path, arrays, axes, arrays[0]
        self.dtype, notes = sample_type(first.dtype)
        self.levels = tuple(_rows_and_columns(axes, array.shape) for array in arrays)
        self.segments = tuple(_rows_and_columns(axes, array.chunks) for array in arrays)
        self.chunk = self.segments[0]
        self.segment_bytes = max(array.codecs.decoded_bytes(array.chunks) for array in arrays)
        self.format = f"{'Zarr' if attributes is None else 'OME-Zarr'} {first.zarr_format}"
        self.channels = _channels(axes, first)
        sizes = dict(zip(axes, first.shape, strict=True))
        of_channels = f"It has {sizes.get('c')} channels; the first was opened."
        notes = (*note_of_axes(sizes.items(), "yxc", "places along {}"), *notes)
        self.notes = unique((of_channels if self.channels < sizes.get("c", 1) else "", *notes))
        self._first_notes = self.notes
        self.missing: set[tuple[int, int, int]] = set()
        self.storage = Storage(
            "zarr",
            self.chunk,
            compression="zstd" if first.codecs.packed else "none",
            smallest=self.levels[-1] if len(arrays) > 1 else None,
            is_ome=attributes is not None,
            details=_kept(axes, attributes or {}),
        )

    def _decode(self, level: int, row: int, column: int) -> np.ndarray:
        array, axes = self._arrays[level], self._axes
        sides = zip((row, column), self.segments[level], self.levels[level], strict=True)
        height, width = (min(chunk, side - at * chunk) for at, chunk, side in sides)
        wanted = {"y": slice(height), "x": slice(width), "c": slice(self.channels)}
        order = [axis for axis in axes if axis in "yxc"]
        depth = array.chunks[axes.index("c")] if "c" in axes else 1
        chunks, firsts = [], range(0, self.channels, depth)
        # The chunks that have some of its channels, of the first time and depth.
        for number in range(len(firsts)):
            at = {"y": row, "x": column, "c": number}
            values, is_stored = array.chunk_or_fill([at.get(axis, 0) for axis in axes])
            if not is_stored:
                with self._lock:
                    self.missing.add((level, row, column))
                    holes = f"{len(self.missing):,} of the chunks that were read are not stored"
                    self.notes = (*self._first_notes, f"{holes} and are the fill value.")
            values = values[tuple(wanted.get(axis, 0) for axis in axes)]
            values = values.transpose([order.index(axis) for axis in "yxc" if axis in order])
            chunks.append(values if "c" in axes else values[..., np.newaxis])
        pixels = chunks[0]
        if len(chunks) > 1 or not pixels.flags.c_contiguous:
            pixels = np.empty((height, width, self.channels), array.dtype)
            for first, planes in zip(firsts, chunks, strict=True):
                # Plane by plane: a fifth of the time of the copy of a transposed array.
                for channel in range(min(depth, self.channels - first)):
                    pixels[..., first + channel] = planes[..., channel]
        return converted(pixels, self.dtype)


def _rows_and_columns(axes: str, sides: Sequence[int]) -> tuple[int, int]:
    return sides[axes.index("y")], sides[axes.index("x")]


def _channels(axes: str, array: StoredArray) -> int:
    """Return how many channels are opened: of more than a picture has, the first."""
    count = array.shape[axes.index("c")] if "c" in axes else 1
    return count if count <= MOST_CHANNELS else 1


def _kept(axes: str, attributes: Json) -> Json:
    """Return what is kept of OME metadata: name, colours, units and the size of a pixel, across and down."""
    # Anybody may have written it; it says nothing of the pixels.
    with suppress(AttributeError, LookupError, TypeError, ValueError):
        multiscale = (attributes.get("multiscales") or [{}])[0]
        named = zip(axes, multiscale.get("axes", ()), strict=False)
        units = {a: {"unit": one["unit"]} for a, one in named if isinstance(one, dict) and "unit" in one}
        kept: Json = {
            "named": {key: multiscale[key] for key in ("name", "type") if key in multiscale},
            "omero": {key: attributes[key] for key in ("omero",) if key in attributes},
            "units": units,
        }
        for transformation in multiscale.get("datasets", [{}])[0].get("coordinateTransformations", ()):
            scale = transformation.get("scale")
            if isinstance(scale, list) and len(scale) == len(axes):
                kept["scale"] = tuple(float(scale[axes.index(axis)]) for axis in "xy")
        return kept
    return {}


def open_zarr(path: Path) -> ZarrPicture:
    """Open an OME-Zarr or a Zarr array for reading in parts; raises Refused."""
    files = StoreFiles(path)
    try:
        node = node_in(files, "")
        return _plain_array(path, node) if isinstance(node, StoredArray) else _ome_zarr(path, files, node)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise Refused("its Zarr metadata is missing or damaged", AGAIN) from error


def _plain_array(path: Path, array: StoredArray) -> ZarrPicture:
    count, names = len(array.shape), array.names
    axes = {2: "yx", 3: "yxc"}.get(count)
    if len(set(names)) == count and {"y", "x"} <= set(names) and all(len(name) == 1 for name in names):
        axes = "".join(names)
    if axes is None or (axes == "yxc" and array.shape[2] > MOST_CHANNELS):
        picture = f"a picture is rows × columns, or rows × columns × 1 to {MOST_CHANNELS}"
        remedy = "Name its axes (dimension_names), or save it as an OME-Zarr."
        raise Refused(f"its shape is {array.shape}; {picture}", remedy)
    return ZarrPicture(path, [array], axes)


def _ome_zarr(path: Path, files: StoreFiles, attributes: Json | None) -> ZarrPicture:
    if attributes is None:
        raise Refused("its Zarr metadata is missing or damaged", AGAIN)
    named = attributes.get("ome", attributes)
    multiscales = named.get("multiscales")
    if not multiscales:
        remedy = "Choose the folder of one of its arrays, or of a picture within it."
        raise Refused("it is a group of arrays and no OME-Zarr: it names no multiscales", remedy)
    first = multiscales[0]
    listed, datasets = first.get("axes", "tczyx"), first["datasets"]
    for count, what in ((len(listed), "axes"), (len(datasets), "levels")):
        if not 1 <= count <= _MOST_LEVELS:
            raise Refused(f"its metadata names {count:,} {what}; a picture has 1 to {_MOST_LEVELS}", AGAIN)
    axes = "".join((axis if isinstance(axis, str) else axis["name"]).lower()[:1] for axis in listed)
    if not {"y", "x"} <= set(axes) or len(set(axes)) < len(axes):
        raise Refused(f"its axes are {axes!r}; a picture has y and x")
    levels: list[StoredArray] = []
    for dataset in datasets:
        name = str(dataset["path"])
        folder = f"{name}/" if name else ""
        array = node_in(files, folder)
        if not isinstance(array, StoredArray):
            what = "missing" if array is None else "a group and no array"
            raise Refused(f"its level {name[:60]!r} is {what}", AGAIN)
        if len(array.shape) != len(axes):
            raise Refused(f"an array of it has {len(array.shape)} axes, its metadata names {len(axes)}")
        if levels and (_channels(axes, array), array.dtype) != (_channels(axes, levels[0]), levels[0].dtype):
            break
        if not levels or _rows_and_columns(axes, array.shape) < _rows_and_columns(axes, levels[-1].shape):
            levels.append(array)
    return ZarrPicture(path, levels, axes, named)


_INSTALL = "Install it: pip install 'haloscope[zarr]'."
_AXIS_TYPES = {"c": "channel", "y": "space", "x": "space"}


class ZarrResult(LargeResult):
    """A store under way, in a folder of another name."""

    def _open(self, part: PartFolder) -> None:
        path, storage = part.result, self.storage
        try:
            zarr = import_module("zarr")  # loaded with the first such result
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] not in ("zarr", "numcodecs"):
                raise
            why = "the package zarr is not installed"
            raise EngineError("No Zarr can be written", why, _INSTALL) from error
        # The checksums of its metadata, and of the values of the rows of each level that are written: what
        # lies in the files of chunks, the library's codecs decide.
        checksums, self._index = part.file("result-metadata"), part.file("result-written")
        if not checksums.byte_count:
            group = zarr.create_group(str(path), zarr_format=2)
            encoding = {"name": "v2", "separator": "/"}
            how = {"dtype": self.dtype, "fill_value": 0, "chunk_key_encoding": encoding}
            if storage.compression == "none":
                how["compressors"] = None
            for number, sides in enumerate(self.levels):
                chunks, sizes = (1, *storage.chunk), (self.channels, *sides)
                group.create_array(str(number), shape=sizes, chunks=chunks, **how)
            group.attrs.update(_attributes(self.levels, storage.details))
            # Only metadata is there yet.
            known = {}
            for file in filter(Path.is_file, path.rglob("*")):
                data = file.read_bytes()
                known[str(file.relative_to(path))] = len(data), zlib.crc32(data)
            checksums.append(json.dumps(known, allow_nan=False).encode())
        for name, checksum in json.loads(checksums.content()).items():
            check_file(path / name, *checksum)
        node, levels = zarr.open(str(path), mode="r+"), range(len(self.levels))
        # Also those that are the fill value: a chunk that is not there shall be one that was lost.
        self._arrays = [node[str(number)].with_config({"write_empty_chunks": True}) for number in levels]
        written = np.frombuffer(self._index.content(), np.uint64).reshape(-1, 3).tolist()
        # Of each level the last one.
        known_rows = {level: (count, checksum) for level, count, checksum in written}
        self._written = [known_rows.get(number, (0, 0)) for number in levels]
        if not written:
            return
        with open_zarr(path) as stored:
            for number, (count, checksum) in enumerate(self._written):
                read, columns = 0, slice(0, self.levels[number][1])
                for top in range(0, count, storage.rows_at_once):
                    rows = slice(top, min(top + storage.rows_at_once, count))
                    read = zlib.crc32(stored.read(number, rows, columns).data, read)
                if read != checksum or stored.missing:
                    raise PartDamaged(f"level {number} of {path.name} has other values")

    def write(self, level: int, top: int, rows: np.ndarray) -> None:
        """Write whole chunks, which the library encodes on several threads."""
        self._arrays[level][:, top : top + len(rows)] = np.moveaxis(rows, 2, 0)
        before = self._written[level][1] if top else 0
        self._written[level] = top + len(rows), zlib.crc32(np.ascontiguousarray(rows).data, before)
        self._index.append(np.array([level, *self._written[level]], np.uint64))

    def sync(self) -> None:
        """Bring to the disk what was written, where the system can for a whole disk."""
        if hasattr(os, "sync"):
            os.sync()

    def finish(self) -> None:
        """Nothing is left to write: the folder has another name until then."""
        self.sync()


def _attributes(levels: tuple[tuple[int, int], ...], kept: Json) -> Json:
    """Return the metadata of an OME-Zarr: what is kept of the source's, and the levels."""
    (across, down), (height, width) = kept.get("scale", (1.0, 1.0)), levels[0]
    datasets, units = [], kept.get("units", {})
    for number, (rows, columns) in enumerate(levels):
        scale = {"type": "scale", "scale": [1.0, down * height / rows, across * width / columns]}
        datasets.append({"path": str(number), "coordinateTransformations": [scale]})
    axes = [{"name": axis, "type": kind} | units.get(axis, {}) for axis, kind in _AXIS_TYPES.items()]
    multiscale = {"version": "0.4", "axes": axes, "datasets": datasets, **kept.get("named", {})}
    return {"multiscales": [multiscale], **kept.get("omero", {})}
