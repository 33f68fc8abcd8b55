"""The pictures that come with the program. `assets/LICENSES.md` says where they are from."""

from dataclasses import dataclass
from pathlib import Path

from engine.errors import UnknownName
from engine.image.open import open_image
from engine.image.picture import Picture

_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "samples"


@dataclass(frozen=True, slots=True)
class Sample:
    """One picture that comes with the program.

    Parameters
    ----------
    key : str
        Stable name, used in commands and sessions.
    title : str
        For people.
    file_name : str
        In assets/samples.
    sentence : str
        What it shows.
    """

    key: str
    title: str
    file_name: str
    sentence: str


# The order in which they are offered; the first is the one that the window opens with.
SAMPLES: tuple[Sample, ...] = (
    Sample(
        "astronaut",
        "Astronaut",
        "astronaut.png",
        "A colour photograph by NASA: skin, fabric and sharp edges.",
    ),
    Sample(
        "camera",
        "Camera",
        "camera.png",
        "A grey photograph of a man with a camera: fine grass and a smooth sky.",
    ),
    Sample(
        "gradient-16", "16-bit gradient", "gradient-16.png", "A 16-bit ramp whose waves are lost at 8 bit."
    ),
    Sample(
        "zone-plate",
        "Zone plate",
        "zone-plate.png",
        "Rings of every frequency: shows what a filter lets through.",
    ),
    Sample(
        "step-edges",
        "Step edges",
        "step-edges.png",
        "Edges of every angle and several heights: for edge masks.",
    ),
    Sample("impulse", "Impulse", "impulse.png", "One white pixel: the filtered picture is the mask itself."),
    Sample(
        "checkerboard",
        "Checkerboard",
        "checkerboard.png",
        "Squares of 1, 2, 4 and 8 pixels: for blur and borders.",
    ),
    Sample(
        "noise", "Noise", "noise.png", "Grey with noise and single black and white pixels: for smoothing."
    ),
)


def sample_path(key: str) -> Path:
    """Return the file of a sample.

    Parameters
    ----------
    key : str
        One of the keys in `SAMPLES`.

    Raises
    ------
    UnknownName
        There is no such sample; the remedy lists those that there are.
    """
    for sample in SAMPLES:
        if sample.key == key:
            return _FOLDER / sample.file_name
    known = ", ".join(sample.key for sample in SAMPLES)
    raise UnknownName(f"There is no sample picture {key!r}", "", f"Choose one of: {known}.")


def open_sample(key: str) -> Picture:
    """Open a sample picture.

    Parameters
    ----------
    key : str
        One of the keys in `SAMPLES`.

    Raises
    ------
    UnknownName
        There is no such sample.
    ImageReadError
        Its file is missing or damaged.
    """
    return open_image(sample_path(key))
