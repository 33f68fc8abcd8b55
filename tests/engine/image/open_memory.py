"""How much memory opening a picture takes: each file is opened in a process of its own.

The peak is counted from after a small picture of some kinds was opened, so that the libraries are loaded.
"""

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import imagecodecs
import numpy as np
from PIL import Image

from engine.errors import EngineError
from engine.image.open import open_image
from tests.engine.image.encoded import encoders, photograph, with_pillow, with_tifffile
from tests.fresh_python import ROOT


@dataclass(frozen=True, slots=True)
class Opening:
    """What opening one file took; `refusal` is why there is no picture."""

    decoded_bytes: int
    peak_bytes: int
    elapsed_s: float
    cpu_s: float
    refusal: str = ""


def encoded(kind, rgb):
    """Return the bytes of a file of that kind."""
    turned = Image.Exif()
    turned[274] = 6
    more = {
        "png-alpha": lambda: bytes(imagecodecs.png_encode(np.dstack([rgb, rgb[..., 0]]), level=1)),
        "jpeg-turned": lambda: with_pillow(rgb, "JPEG", exif=turned.tobytes()),
        "tiff-float64": lambda: with_tifffile(rgb[..., 0].astype(np.float64), photometric="minisblack"),
    }
    return (encoders(rgb) | more)[kind]()


def openings(*files):
    """Open files, pairs of a way and a path, one after another, in a process of their own.

    A way is "library": `open_image` without limits; "filter": as `filter` does, with its limits; "window": as
    the window does, into shared memory: its levels for the screen stay, and are not counted.
    """
    words = [os.fspath(word) for pair in files for word in pair]
    command = [sys.executable, "-m", "tests.engine.image.open_memory", *words]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [Opening(**one) for one in json.loads(done.stdout)]


def _opened_here(words):
    ways = {"library": _in_library, "filter": _in_filter, "window": _in_window}
    pairs = list(zip(words[::2], words[1::2], strict=True))
    # What is imported at the first picture of a format does not count.
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("png", "jpeg", "webp", "tiff", "tiff-deflate", "gif"):
            small = Path(folder) / kind
            small.write_bytes(encoded(kind, photograph(64, 64)))
            for way in {way for way, _ in pairs if way != "window" or kind == "png"}:
                ways[way](os.fspath(small))
    return [_opened(path, ways[way]) for way, path in pairs]


def _opened(path, open_so):
    before = _reset_peak()
    begin, cpu_begin = time.perf_counter(), time.process_time()
    decoded_bytes, screen_bytes, refusal = 0, 0, ""
    try:
        decoded_bytes, screen_bytes = open_so(path)
    except EngineError as error:
        refusal = error.why
    elapsed_s, cpu_s = time.perf_counter() - begin, time.process_time() - cpu_begin
    return Opening(decoded_bytes, _peak_bytes() - before - screen_bytes, elapsed_s, cpu_s, refusal)


def _in_library(path):
    return _bytes_of(open_image(path, max_bytes=2**40)), 0


def _in_filter(path):
    from engine.commands.picture_opening import WORK
    from engine.image.save import saved_format
    from tests.engine.commands.works import filter_of

    how = filter_of("box-3", result_type="float32")
    saved_as = saved_format("out.png")
    picture = open_image(path, work_bytes=lambda form: how.bytes_for(form, saved_as), work=WORK)
    return _bytes_of(picture), 0


def _bytes_of(picture):
    return picture.pixels.nbytes + (0 if picture.alpha is None else picture.alpha.nbytes)


def _in_window(path):
    from engine.host import shared
    from engine.host.picture_jobs import open_picture
    from engine.host.protocol import OpenPicture

    handle = open_picture(OpenPicture(path), lambda step: None)
    arrays = [handle.pixels] + ([] if handle.alpha is None else [handle.alpha])
    decoded_bytes = sum(shared.attach(array).nbytes for array in arrays)
    screen_bytes = sum(
        shared.attach(level).nbytes for level in handle.screen.levels if level != handle.pixels
    )
    shared.unlink(handle.pixels.name)
    return decoded_bytes, screen_bytes


def _reset_peak():
    """Make the present memory the peak, where the system can, and return the peak."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak_bytes()


def _peak_bytes():
    # On Linux ru_maxrss begins with what the parent held; VmHWM is this process's own.
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    sys.stdout.write(json.dumps([asdict(one) for one in _opened_here(sys.argv[1:])]))
