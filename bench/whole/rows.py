"""The rows: what a person does, with each program that does it."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

OURS, OPENCV, VIPS, MAGICK, NUMPY = "haloscope", "opencv", "vips", "magick", "numpy"
TITLES = {
    OURS: "Haloscope",
    OPENCV: "OpenCV in ten lines",
    VIPS: "libvips",
    MAGICK: "ImageMagick",
    NUMPY: "Python that imports NumPy",
}
_MAIN = [sys.executable, "main.py"]
_MASK = ["--mask", "gaussian:9:1.5", "--border", "mirror"]
_SCRIPTS = Path(__file__).parent
_FIRST = (
    "import numpy, engine; "
    "engine.correlate(numpy.ones((64, 64), numpy.float32), numpy.ones((3, 3)) / 9, device='cpu')"
)
_FIRST_OPENCV = (
    "import numpy, cv2; "
    "cv2.filter2D(numpy.ones((64, 64), numpy.float32), -1, numpy.ones((3, 3), numpy.float32) / 9)"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that a person does, and the command of each program that does it."""

    key: str
    title: str
    commands: dict[str, Callable[[], Sequence[str]]] = field(compare=False)
    rounds: int
    counts_first: bool = False  # whether the first run of each counts: of a large batch one is enough


@dataclass(frozen=True, slots=True)
class Files:
    """The pictures and the folders of one run."""

    png: Path
    jpeg: Path
    folder: Path  # For folders of pictures and for results
    png_size: tuple[int, int]  # Columns and rows
    jpeg_size: tuple[int, int]

    def folder_of(self, count: int) -> Path:
        """Return a folder with so many copies of the JPEG."""
        folder = self.folder / f"in-{count}"
        if not folder.exists():
            folder.mkdir()
            for number in range(count):
                os.link(self.jpeg, folder / f"{number:04}.jpg")
        return folder

    def empty(self, name: str) -> str:
        """Return an empty folder for results."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return str(folder)


def installed(python: str) -> dict[str, list[str]]:
    """Return how each peer is started, of those that are on PATH; OpenCV belongs to `python`."""
    found = {OPENCV: [python]}
    if vips := shutil.which("vips"):
        found[VIPS] = [vips]
    if magick := shutil.which("magick") or shutil.which("convert"):
        found[MAGICK] = [magick]
    return found


Commands = dict[str, Callable[[], Sequence[str]]]


def rows_of(
    files: Files, peers: dict[str, list[str]], *, cores: int, count: int, many: int, rounds: int, device: str
) -> list[Row]:
    """Return the rows.

    `peers` is what `installed` returns, `count` and `many` are pictures of the batches; the memory of the
    larger batch stands beside that of one of 10, or of two for each core. Ours are given `device`.
    """

    def row(key: str, title: str, commands: Commands, rounds: int = rounds, **more: bool) -> Row:
        present = {name: make for name, make in commands.items() if name in peers or name in (OURS, NUMPY)}
        return Row(key, title, present, rounds, **more)

    def filters(source: Path) -> Commands:
        def to(key: str) -> list[str]:
            return [str(source), str(files.folder / f"{key}{source.suffix}")]

        return {
            OURS: lambda: [*_MAIN, "filter", *to(OURS), *_MASK, "--device", device],
            OPENCV: lambda: [*peers[OPENCV], str(_SCRIPTS / "opencv_filter.py"), *to(OPENCV)],
            VIPS: lambda: [*peers[VIPS], "gaussblur", *to(VIPS), "1.5"],
            # A radius of 4 is a mask of 9 × 9.
            MAGICK: lambda: [*peers[MAGICK], to(MAGICK)[0], "-gaussian-blur", "4x1.5", to(MAGICK)[1]],
        }

    def batch(number: int) -> list[str]:
        out = files.empty(f"{OURS}-{number}")
        source = str(files.folder_of(number))
        return [*_MAIN, "batch", source, "--out", out, *_MASK, "--device", device]

    source = str(files.folder_of(count))

    def opencv() -> list[str]:
        to = source, files.empty(f"{OPENCV}-{count}"), str(cores)
        return [*peers[OPENCV], str(_SCRIPTS / "opencv_batch.py"), *to]

    def vips() -> list[str]:
        # One process a picture, as many at a time as there are cores.
        out = files.empty(f"{VIPS}-{count}")
        line = f"ls '{source}' | xargs -P {cores} -I% {peers[VIPS][0]} gaussblur '{source}/%' '{out}/%' 1.5"
        return ["sh", "-c", line]

    def python(code: str, command: Sequence[str] = (sys.executable,)) -> list[str]:
        return [*command, "-c", code]

    def numpy() -> list[str]:
        return python("import numpy")

    lists = ("devices", "variants", "masks")
    png, jpeg = ("{} × {}".format(*size) for size in (files.png_size, files.jpeg_size))
    firsts: Commands = {OURS: lambda: python(_FIRST), OPENCV: lambda: python(_FIRST_OPENCV, peers[OPENCV])}
    batches: Commands = {OURS: lambda: batch(count), OPENCV: opencv, VIPS: vips}
    return [
        row("filter-png", f"filter a {png} PNG", filters(files.png)),
        row("filter-jpeg", f"filter a {jpeg} JPEG", filters(files.jpeg)),
        *(row(one, f"list: {one}", {OURS: partial(list, [*_MAIN, one]), NUMPY: numpy}) for one in lists),
        row("first-filter", "first filter of a new Python", firsts),
        row(f"batch-{count}", f"batch of {count} such JPEGs", batches),
        *(
            row(
                f"batch-memory-{number}",
                f"memory of a batch of {number}",
                {OURS: partial(batch, number)},
                1,
                counts_first=True,
            )
            for number in (max(10, 2 * cores), many)
        ),
    ]
