"""Pictures of differences, errors and what masks do. Called on: the main thread, or that beside a run."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.geometry.block import FLOAT_BYTES
from engine.geometry.border import Border
from engine.host import shared
from engine.host.protocol import PictureHandle
from engine.host.request import ComputedResult, SharedArray
from engine.host.shared_picture import SharedSegment, bands_of, part_of, screen_arrays
from engine.image.convert import bands, full_scale_of, to_depth
from engine.image.format import Scratch
from engine.image.open import SAMPLES, open_sample
from engine.mask.mask import Mask
from engine.results.problem import Checkpoint, Progress
from engine.verify.verification import Region
from engine.work.answers import resolved_job
from engine.work.filtering import oracle
from engine.work.filtering.clipping import HINT_FROM
from engine.work.filtering.oracle import AFFORDABLE_MULTIPLY_ADDS, BAND_MULTIPLY_ADDS, BAND_PIXELS, Expected
from engine.work.filtering.variants import variant
from engine.work.messages import Compared, ComparePictures, EffectsRequest, PictureJob

_GREY, _WHITE = 128, 255.0
_BRIGHT_PERCENTILE = 97.0


def compare(request: ComparePictures, report: Checkpoint) -> Compared:
    """Return the picture of a difference, or of an error."""
    original, values = shared.attach(request.picture.in_memory), request.values
    if isinstance(values, ComputedResult):
        # What was kept for the next preview would come on top.
        shared.trim_unused()
    if isinstance(values, SharedArray) and original.shape != values.shape:
        what, why = "picture and result", "they have other sizes, and no difference"
        raise BadValue(what, why, "Look at picture and result side by side.")
    if request.job is not None:
        return _error(request, request.job, report)

    def less() -> Iterator[tuple[Region, NDArray[np.float32]]]:
        for region, part in bands_of(values, Region(0, original.shape[0], 0, original.shape[1])):
            for rows in bands(len(part), FLOAT_BYTES * part[0].size):
                report(Progress("comparing", 0.0, 5.0))
                there = region._replace(top=region.top + rows.start, bottom=region.top + rows.stop)
                with np.errstate(all="ignore"):  # of NaN and infinity
                    change = part[rows].astype(np.float32) - original[there.slices].astype(np.float32)
                yield there, change

    with SharedSegment() as segment:
        picture, levels = _created(segment, original.shape)
        drawn = shared.attach(picture)
        largest = max((float(np.nanmax(np.abs(part), initial=0.0)) for _, part in less()), default=0.0)
        scale = np.float32((_GREY - 1) / largest if np.isfinite(largest) and largest else 0.0)
        for region, part in less():
            with np.errstate(invalid="ignore"):
                drawn[region.slices] = np.nan_to_num(np.rint(part * scale + _GREY))
        words = f"difference: white is +{largest:.4g}, black −{largest:.4g}" if largest else "no difference"
        return Compared(segment.rendered(picture, levels, _WHITE), words)


def _created(segment: SharedSegment, shape: tuple[int, ...]) -> tuple[SharedArray, tuple[SharedArray, ...]]:
    drawn, *levels = segment.create((shape, "uint8"), *screen_arrays(*shape[:2]))
    return drawn, tuple(levels)


def _error(request: ComparePictures, job: PictureJob, report: Checkpoint) -> Compared:
    resolved = resolved_job(job)
    samples, problem, mask = resolved.samples, resolved.problem, resolved.constant
    cost = problem.taps * problem.channels
    part = whole = Region(0, problem.height, 0, problem.width)
    if whole.pixels * cost > AFFORDABLE_MULTIPLY_ADDS:
        part = _affordable(request.seen, whole, cost)
    used = variant(request.variant, takes_auto=False)
    expected = Expected(samples, mask, problem, used.added_to(problem, mask, samples))
    scratch = Scratch((*map(len, part.ranges), problem.channels), np.float32)
    shares = scratch.array
    for band in part.bands(max(1, min(BAND_PIXELS, BAND_MULTIPLY_ADDS // cost))):
        report(Progress("comparing", 0.0, 5.0))
        of_band = _shares(expected, part_of(request.values, band), band)
        top, left = band.top - part.top, band.left - part.left
        shares[top : top + len(of_band), left : left + of_band.shape[1]] = of_band
    if job.region is not None:
        # As far as it lies in the part, in its coordinates.
        top, left = max(0, job.region.top - part.top), max(0, job.region.left - part.left)
        bottom, right = max(top, job.region.bottom - part.top), max(left, job.region.right - part.left)
        for outside in Region(top, bottom, left, right).around:
            shares[outside] = 0.0
    largest = float(np.nanmax(shares, initial=0.0))
    with SharedSegment() as segment:
        picture, levels = _created(segment, samples.shape)
        scale = 255.0 / largest if largest and np.isfinite(largest) else 0.0
        drawn = shared.attach(picture)
        # In bands, each of which is given back: the picture grows in the meantime.
        for rows in bands(len(drawn), FLOAT_BYTES * drawn[0].size):
            drawn[rows] = 0
            first, last = max(rows.start, part.top), min(rows.stop, part.bottom)
            if first < last:
                of_rows = shares[first - part.top : last - part.top]
                drawn[first:last, part.left : part.right] = np.nan_to_num(np.rint(of_rows * scale))
                scratch.give_back(of_rows)
        screen = segment.rendered(picture, levels, _WHITE)
    of_part = "" if part == whole else ", of the part that was seen"
    if not largest:
        return Compared(screen, f"error: none, every value is the reference{of_part}", part == whole)
    unit = "step" if problem.is_quantised else "of the bound"
    return Compared(screen, f"error: white is {largest:.2g} {unit}{of_part}", part == whole)


def _shares(expected: Expected, values: np.ndarray, band: Region) -> np.ndarray:
    """Return the errors of a band in units of their bounds; of 8 and 16 bit in steps of one."""
    wanted, shown = expected.values(band), values.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        if is_whole := values.dtype.kind == "u":
            wanted = np.rint(np.clip(wanted, 0, np.iinfo(values.dtype).max))
        shares: np.ndarray = np.abs(shown - wanted)
        if not (is_whole or expected.is_exact):
            shares = np.nan_to_num(shares / expected.limits(band)[1])
        return np.where(shares > 0, shares, 0.0)


def _affordable(seen: Region, whole: Region, cost: int) -> Region:
    """Return the part of what is seen, around its middle, that the reference can afford."""
    bottom, right = max(1, min(seen.bottom, whole.bottom)), max(1, min(seen.right, whole.right))
    part = Region(min(max(0, seen.top), bottom - 1), bottom, min(max(0, seen.left), right - 1), right)
    share = AFFORDABLE_MULTIPLY_ADDS / max(1, part.pixels * cost)
    if share >= 1.0:
        return part
    rows, columns = (max(1, int(len(along) * share**0.5)) for along in part.ranges)
    top, left = (part.top + part.bottom - rows) // 2, (part.left + part.right - columns) // 2
    return Region(top, top + rows, left, left + columns)


def effects(request: EffectsRequest, report: Checkpoint) -> tuple[bytes, ...]:
    """Return RGB pixels of each mask's result; a stop is noticed between two masks."""
    small, done = small_picture(request.picture, request.side), []
    for number, mask in enumerate(request.masks):
        report(Progress("drawing what the masks do", number / len(request.masks), 10.0))
        done.append(effect(small, mask).tobytes())
    return tuple(done)


def small_picture(picture: PictureHandle | None, side: int) -> NDArray[np.float32]:
    """Return a square from the middle of a picture, 0 to 255: half of its shorter side, if it is that large.

    Larger parts would be shrunk so much that every mask looks stronger than it is. Without a picture that
    lies in memory the first sample stands for it.
    """
    if picture is not None and isinstance(picture.pixels, SharedArray):
        pixels = shared.attach(picture.pixels)
    else:
        pixels = np.atleast_3d(open_sample(SAMPLES[0].key).pixels)
    height, width, channels = pixels.shape
    step = max(1, min(height, width) // (2 * side))
    rows, columns = min(side, height // step), min(side, width // step)
    top, left = (height - rows * step) // 2, (width - columns * step) // 2
    part = pixels[top : top + rows * step, left : left + columns * step].astype(np.float32)
    means = part.reshape(rows, step, columns, step, channels).mean((1, 3))
    means *= np.float32(_WHITE / full_scale_of(pixels.dtype))
    np.nan_to_num(means, copy=False, posinf=_WHITE, neginf=0.0)
    # A picture smaller than the square lies in its middle, with its edges repeated outwards.
    above, before = (side - rows) // 2, (side - columns) // 2
    around = (above, side - rows - above), (before, side - columns - before), (0, 0)
    return np.pad(means.clip(0.0, _WHITE), around, mode="edge")


def effect(small: NDArray[np.float32], mask: Mask) -> NDArray[np.uint8]:
    """Return the result of a mask, RGB; that of an edge mask without its sign, its brightest parts white."""
    values = oracle.correlate(small, mask, Border.REPLICATE)
    clipped = float(((values < -0.5) | (values > _WHITE + 0.5)).mean())
    magnitude = np.abs(values)
    # Most edge masks give a few grey levels or many times white: each is as bright as it can be here.
    bright = float(np.percentile(magnitude, _BRIGHT_PERCENTILE))
    makes_even_black = abs(mask.total) <= 1e-3 * mask.magnitude and not mask.offset
    if (clipped > HINT_FROM or makes_even_black) and bright > 0.0:
        values = magnitude * (_WHITE / bright)
    shown = to_depth(values, "uint8")
    return np.repeat(shown, 3, axis=2) if shown.shape[2] == 1 else shown[:, :, :3]
