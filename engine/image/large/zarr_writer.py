"""Writing OME-Zarr and Zarr arrays in parts, through the package `zarr`."""

import copy
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from engine.errors import EngineError
from engine.files.reading import Json
from engine.image.large.result import LargeResult, PartDamaged, PartFolder, check_file, checksum_of
from engine.image.large.source import Storage
from engine.image.large.zarr_reader import open_zarr

_INSTALL = "Install it: pip install 'haloscope[zarr]'."
_DEFAULT_FORMAT = 2
_AXIS_TYPES = {"t": "time", "c": "channel"}


class ZarrResult(LargeResult):
    """A store under way, in a folder of another name."""

    def __init__(
        self, part: PartFolder, storage: Storage, shape: tuple[int, int, int], dtype: np.dtype
    ) -> None:
        super().__init__(storage, shape, dtype)
        zarr, path, details = _zarr(), part.result, storage.details
        self._axes: str = details.get("axes") or ("cyx" if self.channels > 1 else "yx")
        # The checksums of its metadata, and of the values of the rows of each level that are written: what
        # lies in the files of chunks, the library's codecs decide.
        checksums, self._index = part.file("result-metadata"), part.file("result-written")
        is_new = not checksums.byte_count
        if is_new:
            with _errors_in_words():
                self._create(zarr, path)
            # Only metadata is there yet.
            metadata = [found for found in path.rglob("*") if found.is_file()]
            known = {str(found.relative_to(path)): checksum_of(found) for found in metadata}
            checksums.append(json.dumps(known, allow_nan=False).encode())
        for name, checksum in json.loads(checksums.read(0, checksums.byte_count)).items():
            check_file(path / name, *checksum)
        node = zarr.open(str(path), mode="r+")
        is_array = details.get("is_array", False)
        arrays = [node] if is_array else [node[str(number)] for number in range(len(self.levels))]
        # Also those that are the fill value: a chunk that is not there shall be one that was lost.
        self._arrays = [array.with_config({"write_empty_chunks": True}) for array in arrays]
        if is_new:
            with _errors_in_words():
                # One chunk, which is written again: of some settings of a codec only packing says that they
                # are none.
                self._arrays[0][(0,) * len(self._axes)] = 0
        self._written = [(0, 0) for _ in arrays]
        written = np.frombuffer(self._index.read(0, self._index.byte_count), np.uint64).reshape(-1, 3)
        for level, count, checksum in written.tolist():
            self._written[level] = count, checksum
        if len(written):
            self._check(path)

    def _create(self, zarr: Any, path: Path) -> None:
        details = self.storage.details
        zarr_format = details.get("zarr_format", _DEFAULT_FORMAT)
        if details.get("is_array", False):
            store = zarr.storage.LocalStore(str(path))
            self._make(zarr.create_array, {"store": store, "zarr_format": zarr_format}, self.levels[0])
            return
        group = zarr.create_group(str(path), zarr_format=zarr_format)
        for number, level in enumerate(self.levels):
            self._make(group.create_array, {"name": str(number)}, level)
        _write_metadata(group, zarr_format, self._axes, self.levels, details.get("attributes", {}))

    def _check(self, path: Path) -> None:
        with open_zarr(path) as stored:
            for number, (count, checksum) in enumerate(self._written):
                found, columns = 0, slice(0, self.levels[number][1])
                for top in range(0, count, self.rows_at_once):
                    rows = stored.read(number, slice(top, min(top + self.rows_at_once, count)), columns)
                    found = zlib.crc32(rows.data, found)
                if found != checksum or stored.missing:
                    raise PartDamaged(f"level {number} of {path.name} has other values")

    def _make(self, create: Any, where: Json, level: tuple[int, int]) -> None:
        details = self.storage.details
        settings: Json = {"chunks": self._sides(details.get("chunks"))}
        if details.get("shards"):
            settings["shards"] = self._sides(details["shards"])
        for name in ("compressors", "chunk_key_encoding"):
            if details.get(name) is not None:
                settings[name] = details[name]
        if details.get("zarr_format", _DEFAULT_FORMAT) == 3:
            settings["dimension_names"] = list(self._axes)
        elif "chunk_key_encoding" not in settings:
            settings["chunk_key_encoding"] = {"name": "v2", "separator": "/"}
        sizes = {"y": level[0], "x": level[1], "c": self.channels}
        shape = tuple(sizes.get(axis, 1) for axis in self._axes)
        create(**where, shape=shape, dtype=self.dtype, fill_value=0, **settings)

    def _sides(self, given: tuple[int, ...] | None) -> tuple[int, ...]:
        """Return the sides of a chunk or shard along the axes."""
        sizes = dict(zip("yx", self.storage.chunk, strict=True))
        sides = given or tuple(sizes.get(axis, 1) for axis in self._axes)
        most = {"c": self.channels, "y": 1 << 62, "x": 1 << 62}
        return tuple(min(side, most.get(axis, 1)) for axis, side in zip(self._axes, sides, strict=True))

    def write(self, level: int, top: int, rows: np.ndarray) -> None:
        """Write whole chunks, which the library encodes on several threads."""
        left = [axis for axis in self._axes if axis in "yxc"]
        values = rows if "c" in left else rows[..., 0]
        values = np.transpose(values, ["yxc".index(axis) for axis in left])
        where = tuple(
            slice(top, top + len(rows)) if axis == "y" else slice(None) if axis in "xc" else 0
            for axis in self._axes
        )
        self._arrays[level][where] = values
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


def _zarr() -> ModuleType:
    """Return the package `zarr`, which is loaded with the first such result."""
    try:
        return import_module("zarr")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("zarr", "numcodecs"):
            raise
        raise EngineError("No Zarr can be written", "the package zarr is not installed", _INSTALL) from error


@contextmanager
def _errors_in_words() -> Iterator[None]:
    """Say that a store cannot be stored as its source is, whose metadata anybody may have written."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        why = f"the metadata of the source is not valid ({' '.join(str(error).split())[:120]})"
        raise EngineError(
            "No Zarr can be written", why, "Give the result another kind: .tif or .npy."
        ) from error


def _write_metadata(
    group: Any,
    zarr_format: int,
    axes: str,
    levels: tuple[tuple[int, int], ...],
    attributes: Json,
) -> None:
    """Write the metadata of an OME-Zarr: those of the source, with the levels that there are now."""
    source = copy.deepcopy(attributes)
    first = (source.get("multiscales") or [{}])[0]
    named = first.get("axes") or [{"name": axis, "type": _AXIS_TYPES.get(axis, "space")} for axis in axes]
    scale = _scale_of(first, len(axes))
    datasets = []
    for number, (height, width) in enumerate(levels):
        by_axis = {"y": levels[0][0] / height, "x": levels[0][1] / width}
        scales = [one * by_axis.get(axis, 1.0) for one, axis in zip(scale, axes, strict=True)]
        datasets.append(
            {"path": str(number), "coordinateTransformations": [{"type": "scale", "scale": scales}]}
        )
    version = "0.5" if zarr_format == 3 else "0.4"
    multiscale = {key: first[key] for key in ("name", "type") if key in first}
    multiscale |= {"axes": named, "datasets": datasets}
    if zarr_format == 3:
        ome: Json = {"version": version, "multiscales": [multiscale]}
        if "omero" in source:
            ome["omero"] = source["omero"]
        group.attrs["ome"] = ome
    else:
        group.attrs["multiscales"] = [multiscale | {"version": version}]
        if "omero" in source:
            group.attrs["omero"] = source["omero"]


def _scale_of(multiscale: Json, axes: int) -> list[float]:
    """Return the size of a pixel along each axis."""
    for dataset in multiscale.get("datasets", [])[:1]:
        for transformation in dataset.get("coordinateTransformations", []):
            scale = transformation.get("scale")
            if isinstance(scale, list) and len(scale) == axes:
                return [float(one) for one in scale]
    return [1.0] * axes
