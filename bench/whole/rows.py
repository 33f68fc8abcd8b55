"""The rows: what a person does, with each program that does it."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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


def rows_of(
    files: Files, peers: dict[str, list[str]], *, cores: int, count: int, many: int, rounds: int, device: str
) -> list[Row]:
    """Return the rows.

    `peers` is what `installed` returns, `count` and `many` are pictures of the batches; the memory of the
    larger batch stands beside that of one of 10, or of two for each core. Ours are given `device`.
    """
    on_device = ["--device", device]
    png, jpeg = ("{} × {}".format(*size) for size in (files.png_size, files.jpeg_size))
    batches = _batches(files, peers, count, cores, on_device)
    rows = [
        Row("filter-png", f"filter a {png} PNG", _filters(files, files.png, peers, on_device), rounds),
        Row("filter-jpeg", f"filter a {jpeg} JPEG", _filters(files, files.jpeg, peers, on_device), rounds),
    ]
    for command in ("devices", "variants", "masks"):
        both = {OURS: lambda command=command: [*_MAIN, command], NUMPY: lambda: _python("import numpy")}
        rows.append(Row(command, f"list: {command}", both, rounds))
    rows.append(Row("first-filter", "first filter of a new Python", _firsts(peers), rounds))
    rows.append(Row(f"batch-{count}", f"batch of {count} such JPEGs", batches, rounds))
    for number in (max(10, 2 * cores), many):
        key, title = f"batch-memory-{number}", f"memory of a batch of {number}"
        ours = {OURS: lambda number=number: _batch(files, number, on_device)}
        rows.append(Row(key, title, ours, 1, counts_first=True))
    return rows


def _python(code: str, python: Sequence[str] = (sys.executable,)) -> list[str]:
    return [*python, "-c", code]


def _filters(
    files: Files, source: Path, peers: dict[str, list[str]], on_device: list[str]
) -> dict[str, Callable[[], Sequence[str]]]:
    def to(key: str) -> list[str]:
        return [str(source), str(files.folder / f"{key}{source.suffix}")]

    script = str(_SCRIPTS / "opencv_filter.py")
    return _present(
        peers,
        {
            OURS: lambda: [*_MAIN, "filter", *to(OURS), *_MASK, *on_device],
            OPENCV: lambda: [*peers[OPENCV], script, *to(OPENCV)],
            VIPS: lambda: [*peers[VIPS], "gaussblur", *to(VIPS), "1.5"],
            # A radius of 4 is a mask of 9 × 9.
            MAGICK: lambda: [*peers[MAGICK], to(MAGICK)[0], "-gaussian-blur", "4x1.5", to(MAGICK)[1]],
        },
    )


def _firsts(peers: dict[str, list[str]]) -> dict[str, Callable[[], Sequence[str]]]:
    ours = (
        "import numpy, engine; "
        "engine.correlate(numpy.ones((64, 64), numpy.float32), numpy.ones((3, 3)) / 9, device='cpu')"
    )
    opencv = (
        "import numpy, cv2; "
        "cv2.filter2D(numpy.ones((64, 64), numpy.float32), -1, numpy.ones((3, 3), numpy.float32) / 9)"
    )
    return {OURS: lambda: _python(ours), OPENCV: lambda: _python(opencv, peers[OPENCV])}


def _batch(files: Files, count: int, on_device: list[str]) -> list[str]:
    out = files.empty(f"{OURS}-{count}")
    return [*_MAIN, "batch", str(files.folder_of(count)), "--out", out, *_MASK, *on_device]


def _batches(
    files: Files, peers: dict[str, list[str]], count: int, cores: int, on_device: list[str]
) -> dict[str, Callable[[], Sequence[str]]]:
    source = str(files.folder_of(count))

    def to(key: str) -> list[str]:
        return [source, files.empty(f"{key}-{count}")]

    def vips() -> list[str]:
        # One process a picture, as many at a time as there are cores.
        given, out = to(VIPS)
        line = f"ls '{given}' | xargs -P {cores} -I% {peers[VIPS][0]} gaussblur '{given}/%' '{out}/%' 1.5"
        return ["sh", "-c", line]

    return _present(
        peers,
        {
            OURS: lambda: _batch(files, count, on_device),
            OPENCV: lambda: [*peers[OPENCV], str(_SCRIPTS / "opencv_batch.py"), *to(OPENCV), str(cores)],
            VIPS: vips,
        },
    )


def _present(
    peers: dict[str, list[str]], commands: dict[str, Callable[[], Sequence[str]]]
) -> dict[str, Callable[[], Sequence[str]]]:
    return {key: make for key, make in commands.items() if key == OURS or key in peers}
