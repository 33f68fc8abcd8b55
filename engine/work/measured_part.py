"""What a run measures of a picture that stays in its file: a part of it. No Numba in here."""

import numpy as np
from numpy.typing import NDArray

from engine.host.protocol import PictureHandle
from engine.host.tiles import FilePixels
from engine.work.messages import PictureJob

MEASURED_SIDE = 2048
"""Sides of the part of a large picture that a run measures, pixels, at most."""


def measured_shape(picture: PictureHandle) -> tuple[int, int, int]:
    """Return rows, columns and channels of what a run measures: the picture, or a part of a large one."""
    if isinstance(picture.pixels, FilePixels):
        return min(picture.height, MEASURED_SIDE), min(picture.width, MEASURED_SIDE), picture.channels
    return picture.height, picture.width, picture.channels


def blank(picture: PictureHandle) -> NDArray[np.generic]:
    """Return samples of that shape without their memory: nothing is read for a question."""
    return np.broadcast_to(np.zeros((), picture.dtype), measured_shape(picture))


def measured_part(job: PictureJob) -> tuple[slice, slice]:
    """Return the rows and columns of a large picture that a run measures: around the job's centre."""
    height, width, _ = measured_shape(job.picture)
    row, column = job.centre or (job.picture.height // 2, job.picture.width // 2)
    top = min(max(row - height // 2, 0), job.picture.height - height)
    left = min(max(column - width // 2, 0), job.picture.width - width)
    return slice(top, top + height), slice(left, left + width)
