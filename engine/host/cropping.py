"""A part of a picture as a picture of its own. Called on: the host's main thread."""

from dataclasses import replace

import numpy as np

from engine.errors import BadValue
from engine.host import shared, tile_jobs
from engine.host.picture_jobs import open_picture
from engine.host.protocol import CropPicture, OpenPicture, PictureHandle
from engine.host.shared_array import segments_of
from engine.host.shared_picture import attached, in_shared_memory
from engine.host.tiles import CloseTiled, TiledScreen
from engine.results.progress import Checkpoint, Progress
from engine.verify.regions import Region

# The memory that a part of a picture in its file may take, with its levels for the screen.
_MOST_BYTES = 1 << 30


def crop_picture(request: CropPicture, report: Checkpoint) -> PictureHandle:
    """Copy a part of a picture; of one that stays in its file it is read."""
    picture, region = request.picture, inside(request.region, request.picture)
    report(Progress("cropping", 0.0, 2.0 + 1e-7 * region.pixels))
    pixels, alpha = _samples(picture, region)
    return _handle(picture, region, pixels, alpha)


def open_cropped(request: OpenPicture, report: Checkpoint) -> PictureHandle:
    """Open a picture, and make a part of it the picture."""
    assert request.crop is not None
    whole = open_picture(replace(request, crop=None), report)
    cropped = crop_picture(CropPicture(whole, request.crop), report)
    shared.recycle(*segments_of(whole))
    if isinstance(whole.screen, TiledScreen):
        tile_jobs.close(CloseTiled(whole.screen), report)
    return cropped


def inside(region: Region, picture: PictureHandle) -> Region:
    """Return what of a region lies in a picture; a `BadValue` where that is nothing."""
    top, bottom = max(0, region.top), min(region.bottom, picture.height)
    left, right = max(0, region.left), min(region.right, picture.width)
    if top >= bottom or left >= right:
        size = f"{picture.width:,} × {picture.height:,}"
        what = f"a part from row {region.top}, column {region.left} on"
        why = f"the picture of {size} pixels has no pixel there"
        raise BadValue(what, why, "Choose a part of the picture.")
    return Region(top, bottom, left, right)


def _samples(picture: PictureHandle, region: Region) -> tuple[np.ndarray, np.ndarray | None]:
    if not isinstance(picture.screen, TiledScreen):
        pixels, alpha = shared.attach(picture.in_memory), attached(picture.alpha)
        return pixels[region.slices], None if alpha is None else alpha[region.slices]
    needed = region.pixels * (picture.channels * np.dtype(picture.dtype).itemsize + 6)
    if needed > _MOST_BYTES:
        raise BadValue(
            f"a part of {len(region.ranges[1]):,} × {len(region.ranges[0]):,} pixels",
            f"a part of a picture in its file may take {_MOST_BYTES >> 20:,} MB, and this takes "
            f"{needed >> 20:,}",
            "Choose a smaller part.",
        )
    source = tile_jobs.opened(picture.screen.key).picture
    read = source.read(0, *region.slices)
    return read[..., : picture.channels], read[..., -1] if source.has_alpha else None


def _handle(
    picture: PictureHandle, region: Region, pixels: np.ndarray, alpha: np.ndarray | None
) -> PictureHandle:
    first, opacity, screen = in_shared_memory(pixels, alpha)
    before = picture.crop or Region(0, 0, 0, 0)
    crop = Region(
        region.top + before.top,
        region.bottom + before.top,
        region.left + before.left,
        region.right + before.left,
    )
    size = f"{pixels.shape[1]:,} × {pixels.shape[0]:,}"
    return replace(
        picture,
        pixels=first,
        alpha=opacity,
        screen=screen,
        description=f"{picture.title}  {size}, from row {crop.top}, column {crop.left} on",
        notes=(),
        crop=crop,
    )
