"""Checks of the arguments of `filter_stream`."""

from collections.abc import Iterable

import numpy as np

from engine.api.arguments import Image, as_array
from engine.device.array_libraries import library_of
from engine.errors import BadValue
from engine.image.picture import Picture
from engine.work.pictures import MAX_CHANNELS

MOST_RING = 16


def refuse_pictures(pictures: object) -> None:
    """Refuse values that are neither a picture nor a batch, and a stack of pictures in one array."""
    refuse_on_gpu(pictures)
    if isinstance(pictures, np.ndarray):
        if pictures.ndim == 4 or (pictures.ndim == 3 and pictures.shape[2] > MAX_CHANNELS):
            raise BadValue(
                f"an array of shape {pictures.shape}",
                f"an array is one picture, of shape (H, W), or (H, W, C) with up to {MAX_CHANNELS} channels",
                "If it is a stack of pictures, pass list(array).",
            )
    elif isinstance(pictures, str | bytes) or not isinstance(pictures, Picture | Iterable):
        raise BadValue(
            "The pictures",
            f"what was passed is {in_words(pictures)}",
            "Pass an array, a Picture, or a list or a generator of these; engine.open_image opens a file.",
        )


def refuse_on_gpu(picture: object) -> None:
    """Refuse an array in a GPU's memory: chunks are what is copied to it."""
    if library_of(picture) is not None:
        raise BadValue(
            f"a picture of type {type(picture).__name__} in a GPU's memory",
            "a stream copies pictures of the host to the device, and this one is there",
            "Call engine.correlate, which filters it where it lies.",
        )


def refuse_part(image: Image, pictures: object) -> None:
    """Refuse an element of a batch that is not an array, or that is a row or a number of one picture."""
    refuse_on_gpu(image)
    if image is None or isinstance(image, str | Picture):
        return  # `Request` refuses these
    array = as_array(image)
    axes = array.ndim
    if axes == 0 and array.dtype == object:
        raise BadValue(in_words(image), "a picture is an array", "Leave out what is none.")
    if axes < 2:
        raise BadValue(
            f"{axes} {'axis' if axes == 1 else 'axes'}",
            f"what was passed is a {type(pictures).__name__}, so each of its parts is a picture",
            "Pass numpy.array of it if it is one picture.",
        )


def refuse_calls(receive: object, checkpoint: object) -> None:
    """Refuse values that are not callable."""
    for name, call, arguments in (
        ("receive", receive, "(number, result)"),
        ("checkpoint", checkpoint, "a step"),
    ):
        if not callable(call) and not (call is None and name == "receive"):
            raise BadValue(name, f"{in_words(call)} cannot be called", f"Pass a function of {arguments}.")


def refuse_values(chunk_bytes: int | None, ring: int) -> None:
    """Refuse illegal numbers of bytes and of chunks."""
    if not _is_whole(ring) or not 2 <= ring <= MOST_RING:
        raise BadValue(
            f"a ring of {ring!r}",
            "it is the number of chunks on the device at once, and 2 of them overlap",
            f"Choose a whole number from 2 to {MOST_RING}.",
        )
    if chunk_bytes is None:
        return
    what, remedy = f"chunks of {chunk_bytes!r} bytes", "Choose some megabytes, such as 16 << 20."
    if not _is_whole(chunk_bytes):
        raise BadValue(what, "a number of bytes is a whole number (an int)", remedy)
    if chunk_bytes < 1:
        raise BadValue(what, "a chunk has at least 1 byte", remedy)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def in_words(value: object) -> str:
    """Return the type of a wrong argument, as in "a list"."""
    name = type(value).__name__
    return "None" if value is None else f"a{'n' if name[0] in 'aeio' else ''} {name}"
