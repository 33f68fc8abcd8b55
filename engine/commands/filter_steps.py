"""The request to filter a picture, and the picture to save, as `filter` and `batch` make them."""

import argparse
from typing import Any

import numpy as np

from engine.api.filtering import Request
from engine.commands.filter_options import AUTO_TYPE, filter_arguments
from engine.commands.opening import Opened
from engine.device.cuda_presence import has_driver
from engine.device_info import AUTO
from engine.image.picture import Picture
from engine.image.result_picture import finished_picture, lost_values, result_as_it_is
from engine.mask.mask import Mask
from engine.variants.auto.planner import why_not_gpu


def request_for(
    options: argparse.Namespace,
    mask: Mask,
    picture: Picture,
    saved: np.dtype[Any] | None = None,
    pictures: int = 1,
) -> Request:
    """Return the request to filter a picture, with its alpha as one more channel if that is filtered too.

    `saved` is the sample type of the file. Where the choice is ours and the file has the very same samples,
    the kernel then writes them itself: a result of 12 megapixels takes 36 MB instead of 180. With `auto` a
    GPU is used only where it helps the whole way of so many `pictures`, its start and copies included.
    """
    pixels = picture.pixels
    if options.alpha == "filter" and picture.alpha is not None:
        pixels = np.dstack([pixels, picture.alpha])
    request = _cheapest(options, mask, pixels, pictures)
    is_same = options.range == "clip" or (options.range == "absolute" and _is_never_negative(request))
    if options.result_type == AUTO_TYPE and is_same and saved == picture.dtype and is_finite(request):
        return request.quantised() or request
    return request


def _cheapest(options: argparse.Namespace, mask: Mask, pixels: np.ndarray, pictures: int) -> Request:
    asked = filter_arguments(options) | {"key": options.variant, "anchor": None}
    if options.device != AUTO or options.variant != AUTO or not has_driver():
        return Request(pixels, mask, **asked)
    # Listing the GPUs starts the driver.
    on_cpu = Request(pixels, mask, **asked | {"device": "cpu"})
    why = why_not_gpu(on_cpu.problem, on_cpu.mask, on_cpu.device, pictures)
    if not why:
        return Request(pixels, mask, **asked)
    choice = on_cpu.choice
    on_cpu.choice = choice._replace(reason=choice.reason and choice.reason.and_also(why))
    return on_cpu


def is_finite(request: Request) -> bool:
    """Return whether no result can become infinite, which is noted (`lost_values`)."""
    samples, mask = request.samples.dtype, request.mask
    if samples == np.float32:
        return False
    largest = max(float(np.iinfo(samples).max), abs(request.problem.ghost_value))
    most = float(np.abs(mask.weights).sum()) * largest + abs(mask.offset)
    # Far below what the rounding of a sum could lift over it.
    return most < float(np.finfo(np.float32).max) / 2


def _is_never_negative(request: Request) -> bool:
    """Return whether no result can be below 0, so that it is its own absolute value."""
    mask, samples = request.mask, request.samples.dtype
    least = min(float(mask.weights.min()), mask.offset, request.problem.ghost_value)
    return samples != np.float32 and least >= 0.0


def finished_result(
    options: argparse.Namespace, opened: Opened, values: np.ndarray
) -> tuple[Picture, tuple[str, ...]]:
    """Return the picture to save, and a note for each kind of value that it cannot hold."""
    with_alpha = options.alpha == "filter"
    if values.dtype == opened.dtype and values.dtype != np.float32:
        return result_as_it_is(opened.picture, values, with_alpha=with_alpha), ()
    # Whole numbers of 8 and 16 bit stay what they are in float32.
    floats = values.astype(np.float32, copy=False)
    finished = finished_picture(opened.picture, floats, opened.dtype, options.range, with_alpha=with_alpha)
    return finished, lost_values(floats, opened.dtype)
