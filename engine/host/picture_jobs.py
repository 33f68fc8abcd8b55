"""What the host does for pictures: open, prepare for the screen, save. Called on: its main thread."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError, ImageReadError
from engine.files.output_checks import check_other_file
from engine.geometry.layout import FLOAT_BYTES
from engine.host import shared
from engine.host.display_levels import full_scale
from engine.host.protocol import OpenPicture, PictureHandle, Saved, SaveResult
from engine.host.result_values import bands_of
from engine.host.shared_array import Computed, SharedArray
from engine.host.shared_picture import MAKE_SMALLER, SharedSegment, all_nan_words, attached, screen_arrays
from engine.image.colour import full_scale_of
from engine.image.convert import finite_range, to_depth
from engine.image.form import Form
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.result_picture import Loss, finished_picture
from engine.image.samples import sample_path
from engine.image.save import DEPTH_DTYPES, save_image
from engine.image.scratch import Scratch
from engine.results.progress import Checkpoint, Progress
from engine.verify.regions import Region

# Seconds per byte that the deadline for opening a picture counts with: a disk of another machine (20 MB/s),
# and a slow decoder on a slow core (WebP without loss takes 15 ns).
_READING_S, _DECODING_S = 50e-9, 20e-9

# A TIFF that takes more than this, with its levels for the screen, is opened in parts: at once, while
# decoding it takes ten seconds.
_IN_PARTS_FROM_BYTES = 2 << 30
# Where a picture, its result and their levels would take more than this (61 megapixels of 8-bit RGB), nothing
# is computed before it is seen: 3 x 3 on all of it takes a second of the processor.
WHOLE_RESULT_BYTES = 1 << 30


def open_picture(request: OpenPicture, report: Checkpoint) -> PictureHandle:
    """Open a file or a sample into shared memory; one that is too large for that is asked for by tile."""
    try:
        return _open_into_memory(request, report, _IN_PARTS_FROM_BYTES)
    except _ResultTooLarge as error:
        return _open_in_parts(request, error, is_too_large=True)
    except _BetterInParts as error:
        try:
            return _open_in_parts(request, error, is_too_large=True)
        except ImageReadError:
            return _open_into_memory(request, report)
    except (ImageReadError, shared.NotEnoughSharedMemory) as error:
        is_too_large = error.remedy == MAKE_SMALLER or isinstance(error, shared.NotEnoughSharedMemory)
        return _open_in_parts(request, error, is_too_large=is_too_large)


class _BetterInParts(ImageReadError):
    """A picture fits into memory, and is seen sooner when it is opened in parts."""


class _ResultTooLarge(ImageReadError):
    """A picture fits into memory, and filtering all of it takes too long."""


def _open_in_parts(request: OpenPicture, error: EngineError, *, is_too_large: bool) -> PictureHandle:
    if request.sample:
        raise error
    # Few pictures are; what reads them is loaded with the first one.
    from engine.host import tile_jobs

    if isinstance(error, _ResultTooLarge):
        return tile_jobs.open_decoded(Path(request.path))
    return tile_jobs.open_in_parts(Path(request.path), error, is_too_large=is_too_large)


def _open_into_memory(
    request: OpenPicture, report: Checkpoint, in_parts_from_bytes: float = math.inf
) -> PictureHandle:
    path = sample_path(request.sample) if request.sample else Path(request.path)
    stage = f"opening {request.sample or path.name}"
    report(Progress(stage, 0.0, _reading_s(path)))
    with SharedSegment() as segment:
        arrays: list[SharedArray] = []

        def allocate(form: Form) -> tuple[np.ndarray, np.ndarray | None]:
            pixels = ((*form.plane_shape, form.channels), form.dtype.name)
            alpha = [(form.plane_shape, form.dtype.name)] if form.has_alpha else []
            arrays[:] = segment.create(pixels, *alpha, *screen_arrays(*form.plane_shape))
            return _one_plane(arrays[0]), shared.attach(arrays[1]) if alpha else None

        def opening_bytes(form: Form) -> int:
            # Called when the size is known, before any pixel is decoded.
            expected_s = _reading_s(path) + _DECODING_S * form.decoded_bytes
            report(Progress(stage, 0.2, expected_s))
            if path.suffix.lower() == ".npy" and math.isfinite(in_parts_from_bytes):
                # Whether it is large, and what its channels are, is said there.
                raise _BetterInParts(f"{path.name} is an array")
            needed_bytes = _opening_bytes(form)
            if needed_bytes > in_parts_from_bytes and path.suffix.lower() in (".tif", ".tiff"):
                raise _BetterInParts(f"{path.name} is large")
            if math.isfinite(in_parts_from_bytes) and bytes_with_result(form) > WHOLE_RESULT_BYTES:
                raise _ResultTooLarge(f"{path.name} is large")
            return needed_bytes

        picture = open_image(
            path,
            work_bytes=opening_bytes,
            work="showing",
            remedy=MAKE_SMALLER,
            allocate=allocate,
        )
        report(Progress(stage, 0.8, 1.0 + _DECODING_S * math.prod(arrays[0].shape)))
        pixels, *levels = arrays
        alpha = levels.pop(0) if len(levels[0].shape) == 2 else None
        return PictureHandle(
            pixels=pixels,
            alpha=alpha,
            screen=segment.rendered(pixels, tuple(levels), full_scale(np.dtype(pixels.dtype)), alpha=alpha),
            title=Path(picture.source).name if picture.source else request.sample,
            description=picture.title() + all_nan_words(picture.pixels),
            path=str(Path(request.path).resolve()) if request.path else "",
            sample=request.sample,
            notes=tuple(picture.notes),
            icc_profile=picture.icc_profile,
            metadata=picture.metadata,
        )


def _reading_s(path: Path) -> float:
    """Return how long reading a file may be expected to take, s; where there is none, opening it says so."""
    try:
        return 1.0 + _READING_S * path.stat().st_size
    except (OSError, ValueError):
        return 1.0


def _opening_bytes(form: Form) -> int:
    """Return the memory of a picture with its levels for the screen, bytes."""
    return form.decoded_bytes + sum(math.prod(shape) for shape, _ in screen_arrays(*form.plane_shape))


def bytes_with_result(form: Form) -> int:
    """Return what a picture and its whole result would take, with the levels of both, bytes."""
    colours = form.pixel_count * form.channels
    return 2 * _opening_bytes(form) - form.decoded_bytes + FLOAT_BYTES * colours


def save_result(request: SaveResult, report: Checkpoint) -> Saved:
    """Write a result, or the picture itself, to a file."""
    opened = request.picture
    pixels = opened.in_memory
    # 12,000 x 12,000 pixels of RGB take 11.7 s as PNG, 27 ns per byte; slow disks come on top.
    report(Progress("saving", 0.0, 10.0 + 1e-7 * math.prod(pixels.shape) * FLOAT_BYTES))
    picture = Picture(
        _one_plane(pixels), attached(opened.alpha), opened.icc_profile, metadata=opened.metadata
    )
    lost: tuple[str, ...] = ()
    # The depth of a result is final here; an unknown depth is refused.
    how: dict[str, Any] = {"depth": request.depth, "metadata": request.metadata}
    if request.values is not None:
        if opened.path:
            check_other_file(request.path, opened.path)
        # What was kept for the next preview, or by what computes the result, would come on top of the file.
        shared.trim_spares()
        target = np.dtype(DEPTH_DTYPES.get(request.depth, picture.dtype))
        rounded = Scratch(picture.pixels.shape, target)
        lost = _round_into(rounded.array, request.values, picture, request.range_mode)
        shared.trim_spares()
        picture, how["done"] = finished_picture(picture, rounded.array, target), rounded.give_back
    notes = save_image(picture, request.path, **how)
    return Saved(request.path, (*lost, *notes))


def _round_into(
    pixels: np.ndarray, values: SharedArray | Computed, picture: Picture, range_mode: str
) -> tuple[str, ...]:
    """Make a result pixels of a file; return a sentence for each kind of number that these cannot hold.

    It is made band by band: results that are not kept are never whole in float32.
    """
    height, width = pixels.shape[:2]
    target, out = pixels.dtype, pixels.reshape(height, width, picture.channels)
    whole, white = Region(0, height, 0, width), full_scale_of(picture.dtype)
    ends, loss = None, Loss()
    if range_mode == "rescale" and target.kind == "u":
        found = [finite_range(part) for _, part in _float_bands(values, whole)]
        ends = min(low for low, _ in found), max(high for _, high in found)
    for band, part in _float_bands(values, whole):
        if target.kind != "u":
            out[band.slices] = part
            continue
        how: dict[str, Any] = {"range_mode": range_mode, "white": white, "ends": ends}
        out[band.slices] = to_depth(part, target, **how)
        loss.add(part, out[band.slices], picture.dtype)
    return loss.sentences(out.size, target)


def _float_bands(
    values: SharedArray | Computed, whole: Region
) -> Iterator[tuple[Region, NDArray[np.float32]]]:
    for band, part in bands_of(values, whole):
        # Whole numbers of 8 and 16 bit stay what they are in float32.
        yield band, part.astype(np.float32, copy=False)


def _one_plane(array: SharedArray) -> np.ndarray:
    """Return an array of shared memory, grey as rows and columns only."""
    values = shared.attach(array)
    return values[:, :, 0] if values.shape[2] == 1 else values
