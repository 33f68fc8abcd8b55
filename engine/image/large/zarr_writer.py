"""Writing OME-Zarr (0.4, on Zarr 2) in parts, through the package `zarr`."""

import json
import os
import zlib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from engine.errors import EngineError
from engine.files.reading import Json
from engine.image.large.result import LargeResult, PartDamaged, PartFolder, check_file, checksum_of
from engine.image.large.source import Storage
from engine.image.large.zarr_reader import open_zarr

_INSTALL = "Install it: pip install 'haloscope[zarr]'."
_AXIS_TYPES = {"c": "channel", "y": "space", "x": "space"}


class ZarrResult(LargeResult):
    """A store under way, in a folder of another name."""

    def __init__(
        self, part: PartFolder, storage: Storage, shape: tuple[int, int, int], dtype: np.dtype
    ) -> None:
        super().__init__(storage, shape, dtype)
        zarr, path = _zarr(), part.result
        # The checksums of its metadata, and of the values of the rows of each level that are written: what
        # lies in the files of chunks, the library's codecs decide.
        checksums, self._index = part.file("result-metadata"), part.file("result-written")
        if not checksums.byte_count:
            group = zarr.create_group(str(path), zarr_format=2)
            how = {"dtype": dtype, "fill_value": 0, "chunk_key_encoding": {"name": "v2", "separator": "/"}}
            if storage.compression == "none":
                how["compressors"] = None
            for number, (height, width) in enumerate(self.levels):
                sizes = self.channels, height, width
                group.create_array(str(number), shape=sizes, chunks=(1, *storage.chunk), **how)
            group.attrs.update(_attributes(self.levels, storage.details))
            # Only metadata is there yet.
            metadata = [found for found in path.rglob("*") if found.is_file()]
            known = {str(found.relative_to(path)): checksum_of(found) for found in metadata}
            checksums.append(json.dumps(known, allow_nan=False).encode())
        for name, checksum in json.loads(checksums.read(0, checksums.byte_count)).items():
            check_file(path / name, *checksum)
        node = zarr.open(str(path), mode="r+")
        # Also those that are the fill value: a chunk that is not there shall be one that was lost.
        self._arrays = [
            node[str(number)].with_config({"write_empty_chunks": True}) for number in range(len(self.levels))
        ]
        self._written = [(0, 0)] * len(self.levels)
        written = np.frombuffer(self._index.read(0, self._index.byte_count), np.uint64).reshape(-1, 3)
        for level, count, checksum in written.tolist():
            self._written[level] = count, checksum
        if len(written):
            self._check(path)

    def _check(self, path: Path) -> None:
        with open_zarr(path) as stored:
            for number, (count, checksum) in enumerate(self._written):
                found, columns = 0, slice(0, self.levels[number][1])
                for top in range(0, count, self.rows_at_once):
                    rows = stored.read(number, slice(top, min(top + self.rows_at_once, count)), columns)
                    found = zlib.crc32(rows.data, found)
                if found != checksum or stored.missing:
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


def _zarr() -> ModuleType:
    """Return the package `zarr`, which is loaded with the first such result."""
    try:
        return import_module("zarr")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("zarr", "numcodecs"):
            raise
        raise EngineError("No Zarr can be written", "the package zarr is not installed", _INSTALL) from error


def _attributes(levels: tuple[tuple[int, int], ...], kept: Json) -> Json:
    """Return the metadata of an OME-Zarr: what is kept of the source's, and the levels."""
    across, down = kept.get("scale", (1.0, 1.0))
    height, width = levels[0]
    scales = [[1.0, down * height / rows, across * width / columns] for rows, columns in levels]
    datasets = [
        {"path": str(number), "coordinateTransformations": [{"type": "scale", "scale": scale}]}
        for number, scale in enumerate(scales)
    ]
    units = kept.get("units", {})
    axes = [{"name": axis, "type": kind} | units.get(axis, {}) for axis, kind in _AXIS_TYPES.items()]
    multiscale = {"version": "0.4", "axes": axes, "datasets": datasets, **kept.get("named", {})}
    return {"multiscales": [multiscale], **kept.get("omero", {})}
