"""How much memory opening a picture takes, each file in a process of its own.

    python -m bench.open_memory [--size 12000x9000] [--window] [FILE ...]

Without files one of every kind is made. `--window` opens them as the window does, into shared memory; its
levels for the screen stay, and are not counted. The peak is counted from after a small picture of that kind
was opened, so that the libraries are loaded. Wanted: at most 1.5 times the decoded picture and 100 MB, with
nothing else counted out.
"""

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.image.open import open_image

FACTOR, ALLOWANCE_BYTES = 1.5, 100_000_000
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Opening:
    """What opening one file took; `refusal` is why there is no picture."""

    decoded_bytes: int
    peak_bytes: int
    elapsed_s: float
    cpu_s: float
    refusal: str = ""

    @property
    def is_within(self) -> bool:
        """Whether the peak is within what is wanted."""
        return self.peak_bytes <= FACTOR * self.decoded_bytes + ALLOWANCE_BYTES


def photograph(height: int, width: int) -> NDArray[np.uint8]:
    """RGB that compresses about as a photograph does: waves with a little noise."""
    generator = np.random.default_rng(7)
    y, x = np.ogrid[:height, :width]
    image = np.empty((height, width, 3), np.uint8)
    for channel in range(3):
        waves = 128 + 60 * np.sin(y / (40 + channel)) * np.cos(x / 55.0)
        image[..., channel] = waves + generator.integers(-6, 7, (height, width), np.int8)
    return image


def kinds() -> dict[str, Callable[[NDArray[np.uint8]], bytes]]:
    """Return an encoder of each kind of file: RGB in, the bytes of the file out."""
    return {
        "png": lambda rgb: _png(rgb),
        "png-alpha": lambda rgb: _png(np.dstack([rgb, rgb[..., 0]])),
        "png-16": lambda rgb: _png(rgb.astype(np.uint16) * 257 + rgb[::-1]),
        "png-noise": lambda rgb: _png(np.random.default_rng(1).integers(0, 256, rgb.shape, np.uint8)),
        "png-palette": lambda rgb: _pillow(_palette(rgb), "PNG", transparency=3),
        "jpeg": lambda rgb: _pillow(rgb, "JPEG", quality=92),
        "jpeg-grey": lambda rgb: _pillow(rgb[..., 0], "JPEG", quality=92),
        "jpeg-turned": lambda rgb: _pillow(rgb, "JPEG", exif=_turned()),
        "jpeg-cmyk": lambda rgb: _pillow(rgb, "JPEG", "CMYK"),
        "jpeg-progressive": lambda rgb: _pillow(rgb, "JPEG", progressive=True),
        "bmp": lambda rgb: _pillow(rgb, "BMP"),
        "bmp-bilevel": lambda rgb: _pillow(rgb[..., 0], "BMP", "1"),
        "gif": lambda rgb: _pillow(_palette(rgb), "GIF"),
        "webp": lambda rgb: _pillow(rgb, "WEBP", method=0),
        "webp-alpha": lambda rgb: _pillow(np.dstack([rgb, rgb[..., 0]]), "WEBP", method=0),
        "webp-lossless": lambda rgb: _pillow(rgb, "WEBP", method=0, lossless=True, quality=0),
        "tiff": lambda rgb: _tiff(rgb, photometric="rgb"),
        "tiff-deflate": lambda rgb: _tiff(rgb, photometric="rgb", compression="zlib", predictor=True),
        "tiff-one-strip": lambda rgb: _tiff(
            rgb, photometric="rgb", compression="zlib", rowsperstrip=len(rgb)
        ),
        "tiff-one-strip-lzw": lambda rgb: _tiff(
            rgb, photometric="rgb", compression="lzw", predictor=True, rowsperstrip=len(rgb)
        ),
        "tiff-planar-16": lambda rgb: _tiff(
            np.moveaxis(rgb, 2, 0).astype(np.uint16) * 257, photometric="rgb", planarconfig="separate"
        ),
        "tiff-float32": lambda rgb: _tiff(rgb.astype(np.float32), photometric="rgb"),
        "tiff-float64": lambda rgb: _tiff(rgb[..., 0].astype(np.float64), photometric="minisblack"),
        "tiff-alpha": lambda rgb: _tiff(
            np.dstack([rgb, rgb[..., 0]]), photometric="rgb", extrasamples=["assocalpha"]
        ),
        "tiff-cmyk": lambda rgb: _tiff(np.dstack([rgb, rgb[..., 0]]), photometric="separated"),
        "tiff-bilevel": lambda rgb: _tiff(rgb[..., 0] > 128, photometric="minisblack"),
    }


def openings(*paths: str | os.PathLike[str], way: str = "library") -> list[Opening]:
    """Open files, one after another, in a process of their own.

    Parameters
    ----------
    *paths : str or path-like
    way : str
        "library": `open_image` without limits; "filter": as `filter` does, with its limits; "window": as the
        window does.
    """
    command = [sys.executable, "-m", "bench.open_memory", "--way", way, "--child", *map(os.fspath, paths)]
    done = subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True)
    return [Opening(**one) for one in json.loads(done.stdout)]


def _opened_here(paths: list[str], way: str) -> list[Opening]:
    open_so = {"library": _in_library, "filter": _in_filter, "window": _in_window}[way]
    # What is imported at the first picture of a format does not count.
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("png", "jpeg", "webp", "tiff", "tiff-deflate", "gif"):
            small = Path(folder) / kind
            small.write_bytes(kinds()[kind](photograph(64, 64)))
            open_so(os.fspath(small))
    return [_opened(path, open_so) for path in paths]


def _opened(path: str, open_so: Callable[[str], tuple[int, int]]) -> Opening:
    before = _reset_peak()
    begin, cpu_begin = time.perf_counter(), time.process_time()
    decoded_bytes, screen_bytes, refusal = 0, 0, ""
    try:
        decoded_bytes, screen_bytes = open_so(path)
    except EngineError as error:
        refusal = error.why
    elapsed_s, cpu_s = time.perf_counter() - begin, time.process_time() - cpu_begin
    return Opening(decoded_bytes, _peak_bytes() - before - screen_bytes, elapsed_s, cpu_s, refusal)


def _in_library(path: str) -> tuple[int, int]:
    picture = open_image(path, max_bytes=2**40)
    return picture.pixels.nbytes + (0 if picture.alpha is None else picture.alpha.nbytes), 0


def _in_filter(path: str) -> tuple[int, int]:
    from engine.commands.picture_filter import WORK, filter_for
    from engine.commands.picture_settings import PictureSettings
    from engine.image.save import saved_format

    how = filter_for(PictureSettings(mask="box-3", result_type="float32"))
    picture = open_image(path, work_bytes=how.work_bytes(saved_format("out.png")), work=WORK)
    return picture.pixels.nbytes + (0 if picture.alpha is None else picture.alpha.nbytes), 0


def _in_window(path: str) -> tuple[int, int]:
    from engine.host import shared
    from engine.host.picture_jobs import open_picture
    from engine.host.protocol import OpenPicture

    handle = open_picture(OpenPicture(path), lambda step: None)
    arrays = [handle.pixels] + ([] if handle.alpha is None else [handle.alpha])
    decoded_bytes = sum(shared.attach(array).nbytes for array in arrays)
    screen_bytes = sum(shared.attach(level).nbytes for level in handle.screen.levels)
    shared.unlink(handle.pixels.name)
    return decoded_bytes, screen_bytes


def _reset_peak() -> int:
    """Make the present memory the peak, where the system can, and return the peak."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak_bytes()


def _peak_bytes() -> int:
    # On Linux ru_maxrss begins with what the parent held; VmHWM is this process's own.
    try:
        line = next(
            line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
        )
        return 1024 * int(line.split()[1])
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def _png(image: NDArray[Any]) -> bytes:
    import imagecodecs

    return bytes(imagecodecs.png_encode(image, level=1))


def _pillow(image: Any, kind: str, mode: str = "", **options: Any) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    picture = image if isinstance(image, Image.Image) else Image.fromarray(image)
    (picture.convert(mode) if mode else picture).save(buffer, kind, **options)
    return buffer.getvalue()


def _palette(rgb: NDArray[np.uint8]) -> Any:
    from PIL import Image

    picture = Image.fromarray(rgb[..., 0])
    picture = picture.convert("P")
    picture.putpalette(np.random.default_rng(2).integers(0, 256, 768, np.uint8).tobytes())
    return picture


def _tiff(image: NDArray[Any], **options: Any) -> bytes:
    import tifffile

    buffer = io.BytesIO()
    tifffile.imwrite(buffer, image, metadata=None, **options)
    return buffer.getvalue()


def _turned() -> bytes:
    from PIL import Image

    exif = Image.Exif()
    exif[274] = 6
    return exif.tobytes()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.open_memory", description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--size", default="12000x9000", help="columns x rows of the files that are made")
    parser.add_argument("--kinds", default=",".join(kinds()), help="which are made")
    parser.add_argument("--way", default="library", help=argparse.SUPPRESS)
    parser.add_argument(
        "--window",
        dest="way",
        action="store_const",
        const="window",
        default="library",
        help="open as it does",
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps([asdict(one) for one in _opened_here(options.files, options.way)]))
        return
    print(
        f"{'file':<24}{'file MB':>9}{'decoded MB':>12}{'peak MB':>9}{'ratio':>7}{'s':>7}  within 1.5 x + 100 "
        "MB"
    )
    for path in options.files:
        _print_row(path, path, options.way)
    if options.files:
        return
    width, height = map(int, options.size.split("x"))
    rgb = photograph(height, width)
    for kind in options.kinds.split(","):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, kind)
            Path(path).write_bytes(kinds()[kind](rgb))
            _print_row(kind, path, options.way)


def _print_row(name: str, path: str, way: str) -> None:
    (one,) = openings(path, way=way)
    ratio = f"{one.peak_bytes / one.decoded_bytes:.2f}" if one.decoded_bytes else "-"
    megabytes = [f"{count / 1e6:.0f}" for count in (os.path.getsize(path), one.decoded_bytes, one.peak_bytes)]
    verdict = f"refused: {one.refusal}" if one.refusal else "yes" if one.is_within else "NO"
    print(
        f"{name:<24}{megabytes[0]:>9}{megabytes[1]:>12}{megabytes[2]:>9}{ratio:>7}{one.elapsed_s:>7.2f}  "
        f"{verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
