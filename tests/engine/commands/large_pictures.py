"""Files of pictures that are cut as if they were larger than memory, and what filters them."""

from dataclasses import replace

import numpy as np
import pytest
import tifffile

from engine.commands.arguments import read
from engine.commands.filtering import FilterSettings
from engine.commands.picture_work import work_for
from engine.image.large.opening import open_large

zarr = pytest.importorskip("zarr")

HEIGHT, WIDTH = 75, 51


def picture(dtype="uint8", channels=3, height=HEIGHT, width=WIDTH):
    random = np.random.default_rng(7)
    if dtype == "float32":
        return random.random((height, width, channels), np.float32)
    return random.integers(0, np.iinfo(dtype).max, (height, width, channels), dtype, endpoint=True)


def as_read(path):
    with open_large(path) as found:
        return found.read(0, slice(0, found.height), slice(0, found.width))


def written(kind, pixels, folder):
    """Return the path of a file of a kind with these pixels."""
    squeezed = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    path = folder / f"in.{kind.split()[0]}"
    if kind.startswith("tif"):
        options = dict(word.split("=") for word in kind.split()[1:])
        tifffile.imwrite(
            path,
            squeezed,
            photometric="rgb" if pixels.shape[2] >= 3 else "minisblack",
            extrasamples=["unassalpha"] if pixels.shape[2] == 4 else None,
            tile=(16, 32) if "tile" in options else None,
            rowsperstrip=int(options["strip"]) if "strip" in options else None,
            compression=options.get("compression"),
            predictor="predictor" in options or None,
            bigtiff="big" in options,
            metadata=None,
        )
    elif kind.startswith("npy"):
        np.save(path, squeezed)
    else:
        version = int(kind.split()[1])
        group = zarr.create_group(str(path), zarr_format=version)
        planes = np.moveaxis(pixels, 2, 0)
        group.create_array("0", shape=planes.shape, chunks=(1, 16, 32), dtype=planes.dtype)[...] = planes
        axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "yx")]
        scale = [{"type": "scale", "scale": [1.0, 0.5, 0.5]}]
        datasets = [{"path": "0", "coordinateTransformations": scale}]
        multiscales = [{"axes": axes, "datasets": datasets, "version": "0.4", "name": "cells"}]
        group.attrs.update(
            {"multiscales": multiscales}
            if version == 2
            else {"ome": {"version": "0.5", "multiscales": multiscales}}
        )
    return str(path)


def filtered(source, output, *arguments, memory=None):
    """Filter a file in bands; return what became of it."""
    settings = read("filter", FilterSettings, [source, str(output), *arguments, "--device", "cpu"])
    return work_for(settings.steps, replace(settings.saving, memory=memory)).filter_file(source, str(output))


def ome_tiff(path, pixels, **settings):
    with tifffile.TiffWriter(path, ome=True) as tiff:
        metadata = {"axes": "YXS", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm", "Name": "cells"}
        tiff.write(pixels, subifds=2, tile=(16, 32), photometric="rgb", metadata=metadata, **settings)
        for step in (2, 4):
            tiff.write(pixels[::step, ::step], subfiletype=1, tile=(16, 32), photometric="rgb", **settings)
