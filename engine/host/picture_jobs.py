"""What the host does for pictures: open, prepare for the screen, save. Called on: its main thread."""

import math
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError, ImageReadError
from engine.files.output_checks import check_other_file
from engine.geometry.layout import FLOAT_BYTES
from engine.host import shared
from engine.host.display_levels import full_scale, level_shapes, render
from engine.host.protocol import OpenPicture, PictureHandle, Saved, SaveResult, ScreenLevels, Shown
from engine.host.shared_array import SharedArray
from engine.image.form import Form
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.result_picture import finished_picture, lost_values
from engine.image.samples import sample_path
from engine.image.save import DEPTH_DTYPES, save_image
from engine.results.progress import Checkpoint, Progress

# Seconds per byte that the deadline for opening a picture counts with: a disk of another machine (20 MB/s),
# and a slow decoder on a slow core (WebP without loss takes 15 ns).
_READING_S, _DECODING_S = 50e-9, 20e-9

# A TIFF that takes more than this, with its levels for the screen, is opened in parts: at once, while
# decoding it takes ten seconds.
_IN_PARTS_FROM_BYTES = 2 << 30
# Where a picture, its result and their levels take more than this, nothing is computed before it is seen.
WHOLE_RESULT_BYTES = 1 << 30
# Pixels of full size are kept for the screen up to here, which is a picture of 3840 x 2160; those of larger
# ones are made from the samples where they are seen.
FULL_SIZE_BYTES = 32 << 20
# The limit of the window is fixed.
MAKE_SMALLER = "Scale it down, or cut out a part of it, in another program, and open that."


class SharedSegment:
    """A segment of shared memory that a job fills; recycled unless it is handed over."""

    def __init__(self) -> None:
        self._name = ""
        self._handed_over = False

    def create(self, *arrays: tuple[tuple[int, ...], str]) -> tuple[SharedArray, ...]:
        """Make the segment, with arrays of these (shape, dtype)."""
        made = shared.create(*arrays)
        self._name = made[0].name
        return made

    def rendered(
        self,
        pixels: SharedArray,
        levels: tuple[SharedArray, ...],
        white: float,
        range_mode: str = "clip",
        alpha: SharedArray | None = None,
    ) -> ScreenLevels:
        """Fill the levels for the screen, and hand the segment over."""
        targets = [shared.attach(level) for level in levels]
        how = render(shared.attach(pixels), targets, white, range_mode, attached(alpha))
        self._handed_over = True
        if levels[0].shape[:2] == pixels.shape[:2]:
            return ScreenLevels(levels, opaque=alpha is None)
        return ScreenLevels((pixels, *levels), alpha is None, Shown(*how, alpha, white))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._name and (error is not None or not self._handed_over):
            shared.recycle(self._name)


def screen_arrays(height: int, width: int) -> list[tuple[tuple[int, ...], str]]:
    """Return shapes and type of a picture's levels for the screen; of a large one without full size."""
    shapes = level_shapes(height, width)
    is_large = math.prod(shapes[0]) > FULL_SIZE_BYTES
    return [(shape, "uint8") for shape in shapes[is_large:]]


def attached(array: SharedArray | None) -> NDArray[Any] | None:
    """Return a view of an array of shared memory, if there is one."""
    return None if array is None else shared.attach(array)


def open_picture(request: OpenPicture, report: Checkpoint) -> PictureHandle:
    """Open a file or a sample into shared memory; one that is too large for that is asked for by tile."""
    if request.crop is not None:
        # Few are opened so, by sessions.
        cropped: PictureHandle = import_module("engine.host.cropping").open_cropped(request, report)
        return cropped
    try:
        return _open_into_memory(request, report, _IN_PARTS_FROM_BYTES)
    except _ResultTooLarge:
        tile_jobs = import_module("engine.host.tile_jobs")
        handle: PictureHandle = tile_jobs.open_decoded(Path(request.path))
        return handle
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
    """A picture fits into memory, and its result does not."""


def _open_in_parts(request: OpenPicture, error: EngineError, *, is_too_large: bool) -> PictureHandle:
    if request.sample:
        raise error
    # Few pictures are; what reads them is loaded with the first one.
    opened: PictureHandle = import_module("engine.host.tile_jobs").open_in_parts(
        Path(request.path), error, is_too_large=is_too_large
    )
    return opened


def _open_into_memory(
    request: OpenPicture, report: Checkpoint, in_parts_from_bytes: float = math.inf
) -> PictureHandle:
    path = sample_path(request.sample) if request.sample else Path(request.path)
    stage = f"opening {request.sample or path.name}"
    report(Progress(stage, 0.0, _reading_s(path)))
    with SharedSegment() as segment:
        arrays: list[SharedArray] = []

        def allocate(form: Form) -> tuple[NDArray[Any], NDArray[Any] | None]:
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
            description=picture.title(),
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
    """Return the memory of a picture and its result, with the levels of both, bytes."""
    colours = form.pixel_count * form.channels
    return 2 * _opening_bytes(form) - form.decoded_bytes + FLOAT_BYTES * colours


def save_result(request: SaveResult, report: Checkpoint) -> Saved:
    """Write a result, or the picture itself, to a file."""
    opened = request.picture
    pixels = opened.in_memory
    saved = request.values or pixels
    # 12,000 x 12,000 pixels of RGB take 11.7 s as PNG, 27 ns per byte; slow disks come on top.
    report(Progress("saving", 0.0, 10.0 + 1e-7 * math.prod(saved.shape) * np.dtype(saved.dtype).itemsize))
    picture = Picture(
        _one_plane(pixels), attached(opened.alpha), opened.icc_profile, metadata=opened.metadata
    )
    lost: tuple[str, ...] = ()
    if request.values is not None:
        if opened.path:
            check_other_file(request.path, opened.path)
        target = np.dtype(DEPTH_DTYPES.get(request.depth, picture.dtype))
        # Whole numbers of 8 and 16 bit stay what they are in float32.
        values = _one_plane(request.values).astype(np.float32, copy=False)
        picture = finished_picture(picture, values, target, request.range_mode)  # type: ignore[arg-type]
        lost = lost_values(values, target)
    # The depth of a result is final here; an unknown depth is refused.
    how = {"depth": request.depth, "metadata": request.metadata}
    notes = save_image(picture, request.path, **how)  # type: ignore[arg-type]
    return Saved(request.path, (*lost, *notes))


def _one_plane(array: SharedArray) -> NDArray[Any]:
    """Return an array of shared memory, grey as rows and columns only."""
    values = shared.attach(array)
    return values[:, :, 0] if values.shape[2] == 1 else values
