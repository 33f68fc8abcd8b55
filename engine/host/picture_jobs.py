"""What the host does for pictures: open, cut a part out, prepare for the screen, count, save.

Few pictures stay in their files; what reads those (`tile_jobs`) is loaded with the first one. Called on: the
main thread of the host.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.compiled.machine_code import MachineFunction
from engine.errors import BadValue, ImageReadError
from engine.files.atomic_write import check_other_file
from engine.geometry.block import FLOAT_BYTES
from engine.geometry.border import RangeMode
from engine.host import protocol, shared, shared_picture
from engine.host.protocol import BINS, ChannelNumbers, OpenPicture, PictureHandle, Windowed
from engine.host.request import ComputedResult, SharedArray, segments_of
from engine.host.shared_picture import MAKE_SMALLER, SharedSegment, attached, bands_of, screen_arrays
from engine.image.convert import bands, full_scale_of
from engine.image.format import Form, Scratch
from engine.image.open import open_image, sample_path
from engine.image.picture import Picture
from engine.image.save import DEPTH_DTYPES, Conversion, finished_picture, save_image
from engine.results.problem import Checkpoint, Progress
from engine.verify.verification import Region

# Seconds per byte that the deadline for opening a picture counts with: a disk of another machine (20 MB/s),
# and a slow decoder on a slow core (WebP without loss takes 15 ns).
_READING_S, _DECODING_S = 50e-9, 20e-9

# A TIFF that takes more than this, with its levels for the screen, is opened in parts: at once, while
# decoding it takes ten seconds.
_IN_PARTS_FROM_BYTES = 2 << 30
# Where a picture, its result and their levels would take more than this (61 megapixels of 8-bit RGB), nothing
# is computed before it is seen: 3 x 3 on all of it takes a second of the processor.
WHOLE_RESULT_BYTES = 1 << 30
# The memory that a part of a picture in its file may take, with its levels for the screen.
_MOST_CROP_BYTES = 1 << 30


def open_picture(request: OpenPicture, report: Checkpoint) -> PictureHandle:
    """Open a file or a sample, or a part of it, into shared memory; a large one is requested by tile."""
    if request.crop is None:
        return _open_into_memory(request, report) if request.sample else _open_file(request, report)
    whole = open_picture(replace(request, crop=None), report)
    cropped = crop_picture(protocol.CropPicture(whole, request.crop), report)
    shared.recycle(*segments_of(whole))
    if isinstance(whole.screen, protocol.TiledScreen):
        _tile_jobs().close(protocol.CloseTiled(whole.screen), report)
    return cropped


class _BetterInParts(ImageReadError):
    """A picture fits into memory, and is seen sooner when it is opened in parts."""


class _ResultTooLarge(ImageReadError):
    """A picture fits into memory, and filtering all of it takes too long."""


def _open_file(request: OpenPicture, report: Checkpoint) -> PictureHandle:
    path = Path(request.path)
    try:
        return _open_into_memory(request, report, may_be_in_parts=True)
    except (ImageReadError, shared.NotEnoughSharedMemory) as error:
        if isinstance(error, _ResultTooLarge):
            return cast("PictureHandle", _tile_jobs().opened_anew(path, is_decoded=True))
        is_better = isinstance(error, _BetterInParts)
        is_large = is_better or error.remedy == MAKE_SMALLER or not isinstance(error, ImageReadError)
        try:
            return cast("PictureHandle", _tile_jobs().open_in_parts(path, error, is_too_large=is_large))
        except ImageReadError:
            if not is_better:
                raise
            return _open_into_memory(request, report)


def _open_into_memory(
    request: OpenPicture, report: Checkpoint, *, may_be_in_parts: bool = False
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
            suffix, needed_bytes = path.suffix.lower(), _opening_bytes(form)
            is_large_tiff = needed_bytes > _IN_PARTS_FROM_BYTES and suffix in (".tif", ".tiff")
            # Whether an array is large, and what its channels are, is found out there.
            if may_be_in_parts and (is_large_tiff or suffix == ".npy"):
                raise _BetterInParts(f"{path.name} is seen sooner in parts")
            if may_be_in_parts and bytes_with_result(form) > WHOLE_RESULT_BYTES:
                raise _ResultTooLarge(f"{path.name} is large")
            return needed_bytes

        picture = open_image(
            path, work_bytes=opening_bytes, work="showing", remedy=MAKE_SMALLER, allocate=allocate
        )
        report(Progress(stage, 0.8, 1.0 + _DECODING_S * math.prod(arrays[0].shape)))
        pixels, *levels = arrays
        alpha = levels.pop(0) if len(levels[0].shape) == 2 else None
        return PictureHandle(
            pixels=pixels,
            alpha=alpha,
            screen=segment.rendered(pixels, tuple(levels), full_scale_of(picture.dtype), alpha=alpha),
            title=Path(picture.source).name if picture.source else request.sample,
            description=picture.title() + shared_picture.all_nan_words(picture.pixels),
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


def crop_picture(request: protocol.CropPicture, report: Checkpoint) -> PictureHandle:
    """Copy a part of a picture; of one that stays in its file it is read."""
    picture, region = request.picture, inside(request.region, request.picture)
    report(Progress("cropping", 0.0, 2.0 + 1e-7 * region.pixels))
    pixels, alpha = _samples(picture, region)
    first, opacity, screen = shared_picture.in_shared_memory(pixels, alpha)
    top, left = (picture.crop.top, picture.crop.left) if picture.crop else (0, 0)
    crop = Region(region.top + top, region.bottom + top, region.left + left, region.right + left)
    size = f"{pixels.shape[1]:,} × {pixels.shape[0]:,}"
    words = f"{picture.title}  {size}, from row {crop.top}, column {crop.left} on"
    return replace(
        picture, pixels=first, alpha=opacity, screen=screen, description=words, notes=(), crop=crop
    )


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
    if not isinstance(picture.screen, protocol.TiledScreen):
        pixels, alpha = shared.attach(picture.in_memory), attached(picture.alpha)
        return pixels[region.slices], None if alpha is None else alpha[region.slices]
    needed = region.pixels * (picture.channels * np.dtype(picture.dtype).itemsize + 6)
    if needed > _MOST_CROP_BYTES:
        what = f"a part of {len(region.ranges[1]):,} × {len(region.ranges[0]):,} pixels"
        most = f"{_MOST_CROP_BYTES >> 20:,} MB, and this takes {needed >> 20:,}"
        raise BadValue(what, f"a part of a picture in its file may take {most}", "Choose a smaller part.")
    source = _tile_jobs().opened(picture.screen.key).picture
    read = source.read(0, *region.slices)
    return read[..., : picture.channels], read[..., -1] if source.has_alpha else None


def save_result(request: protocol.SaveResult, report: Checkpoint) -> protocol.Saved:
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
    how |= {"quality": request.quality} if request.quality else {}
    if request.values is not None:
        if opened.path:
            check_other_file(request.path, opened.path)
        # What was kept for the next preview, or by what computes the result, would come on top of the file.
        shared.trim_unused()
        target = np.dtype(DEPTH_DTYPES.get(request.depth, picture.dtype))
        rounded = Scratch(picture.pixels.shape, target)
        # Band by band: results that are not kept are never whole in float32. Whole numbers of 8 and 16 bit
        # stay what they are in it. Each kind of number that a format cannot hold gives a sentence.
        height, width = picture.pixels.shape[:2]
        out, whole = rounded.array.reshape(height, width, picture.channels), Region(0, height, 0, width)
        conversion = Conversion(picture.dtype, target, cast("RangeMode", request.range_mode))
        conversion.find_ends(
            part.astype(np.float32, copy=False) for _, part in bands_of(request.values, whole)
        )
        for band, part in bands_of(request.values, whole):
            conversion.samples(part.astype(np.float32, copy=False), out[band.slices])
        lost = conversion.sentences(out.size)
        shared.trim_unused()
        picture, how["done"] = finished_picture(picture, rounded.array, target), rounded.give_back
    notes = save_image(picture, request.path, **how)
    return protocol.Saved(request.path, (*lost, *notes))


def _one_plane(array: SharedArray) -> np.ndarray:
    """Return an array of shared memory, grey as rows and columns only."""
    values = shared.attach(array)
    return values[:, :, 0] if values.shape[2] == 1 else values


def _tile_jobs() -> ModuleType:
    from engine.host import tile_jobs

    return tile_jobs


_count = MachineFunction("engine.host.display_code", "count")


def measure_picture(request: protocol.MeasurePicture, report: Checkpoint) -> protocol.PictureNumbers:
    """Return the numbers of a picture and its result."""
    before = _numbers(request.picture.in_memory, request, report)
    after = () if request.values is None else _numbers(request.values, request, report)
    return protocol.PictureNumbers(*before, *after)


def _parts_of(
    values: SharedArray | ComputedResult, region: Region, report: Checkpoint
) -> Iterator[tuple[Region, NDArray[np.generic]]]:
    """Yield a region of values in bands; whoever asked may want another picture by now."""
    for band, part in bands_of(values, region):
        report(Progress("counting", 0.0, 5.0))
        yield band, part


def _numbers(
    values: SharedArray | ComputedResult, request: protocol.MeasurePicture, report: Checkpoint
) -> tuple[tuple[ChannelNumbers, ...], tuple[float, float]]:
    picture = request.picture
    region = request.region or Region(0, picture.height, 0, picture.width)
    white, ends = full_scale_of(np.dtype(picture.dtype)), (0.0, 255.0)
    if not (isinstance(values, SharedArray) and values.dtype == "uint8"):
        ranges = [shared_picture.value_range(part) for _, part in _parts_of(values, region, report)]
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        ends = (low, high) if low < high else (0.0, white)
    counts = [_Counts(white, ends) for _ in range(picture.channels)]
    for _, part in _parts_of(values, region, report):
        for rows in bands(len(part), part[0].nbytes):
            for channel, one in enumerate(counts):
                one.add(part[rows, :, channel].reshape(-1))
    return tuple(one.numbers for one in counts), ends


class _Counts:
    """What was counted of a channel; `white` is its full scale, the bins lie between the ends."""

    def __init__(self, white: float, ends: tuple[float, float]) -> None:
        self._white, self._ends = white, ends
        self._bins, self._outside = np.zeros(BINS, np.int64), np.zeros(3, np.int64)
        self._sums = np.array([0.0, 0.0, np.inf, -np.inf])

    def add(self, samples: np.ndarray) -> None:
        """Count some more."""
        if samples.dtype == np.uint8:
            # Its bins are its values: 1 ns for a sample, in place of 4.
            counts, levels = np.bincount(samples, minlength=BINS), np.arange(BINS, dtype=np.float64)
            there = np.flatnonzero(counts)
            self._bins += counts
            self._sums[:2] += counts @ levels, counts @ levels**2
            self._sums[2:] = min(self._sums[2], there[0]), max(self._sums[3], there[-1])
            return
        low, high = self._ends
        how = self._white, low, BINS / (high - low)
        _count(samples.astype(np.float32), *how, self._bins, self._outside, self._sums)

    @property
    def numbers(self) -> ChannelNumbers:
        """The numbers of all samples that were counted."""
        below, above, not_finite = self._outside.tolist()
        total, squares, *ends = self._sums.tolist()
        counts = tuple(self._bins.tolist())
        count = sum(counts)
        mean = total / count if count else math.nan
        deviation = math.sqrt(max(0.0, squares / count - mean * mean)) if count else math.nan
        least, most = ends if count else (math.nan, math.nan)
        return ChannelNumbers(counts, below, above, not_finite, mean, deviation, least, most)


_WHITE = 255.0
_MOST_LOOKED_AT = 1 << 21  # samples from which percentiles are taken: 20 ms


def show_window(request: protocol.ShowWindow, report: Checkpoint) -> Windowed:
    """Return a picture, or a result of it, with these ends black and white."""
    picture, values = request.picture, request.values or request.picture.in_memory
    whole = Region(0, picture.height, 0, picture.width)
    step = 1 + math.prod(picture.pixels.shape) // _MOST_LOOKED_AT
    if (ends := request.ends) is None:
        # Every `step`-th value is looked at, of the finite ones.
        parts = (part.reshape(-1)[::step] for _, part in _parts_of(values, whole, report))
        samples = np.concatenate([part.astype(np.float32) for part in parts])
        finite = samples[np.isfinite(samples)]
        low, high = np.percentile(finite, protocol.PERCENTILES).tolist() if finite.size else (0.0, 1.0)
        ends = low, high
    arrays = screen_arrays(picture.height, picture.width)
    with SharedSegment() as segment:
        if isinstance(values, SharedArray):
            levels, white = segment.create(*arrays), full_scale_of(np.dtype(picture.dtype))
            return Windowed(segment.rendered(values, levels, white, "rescale", picture.alpha, ends), ends)
        # Values that are not kept: the bytes of the screen are.
        drawn, *levels_of_drawn = segment.create((picture.pixels.shape, "uint8"), *arrays)
        pixels, scale = shared.attach(drawn), _WHITE / ((ends[1] - ends[0]) or 1.0)
        for region, part in _parts_of(values, whole, report):
            with np.errstate(invalid="ignore", over="ignore"):
                bytes_ = (part.astype(np.float32) - np.float32(ends[0])) * np.float32(scale)
                pixels[region.slices] = np.nan_to_num(np.rint(bytes_.clip(0.0, _WHITE)))
        return Windowed(segment.rendered(drawn, tuple(levels_of_drawn), _WHITE), ends)
