"""The pictures that come with the program. `assets/LICENSES.md` says where they are from."""

from pathlib import Path
from typing import NamedTuple

from engine.errors import UnknownName
from engine.image.open import open_image
from engine.image.picture import Picture

_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "samples"


class Sample(NamedTuple):
    """A stable key for commands and sessions, a title, and a sentence on what the picture shows."""

    key: str
    title: str
    sentence: str

    @property
    def path(self) -> Path:
        """Its file."""
        return _FOLDER / f"{self.key}.png"


# The order in which they are offered; the first is the one that the window opens with.
SAMPLES: tuple[Sample, ...] = (
    Sample("astronaut", "Astronaut", "A colour photograph by NASA: skin, fabric and sharp edges."),
    Sample("camera", "Camera", "A grey photograph of a man with a camera: fine grass and a smooth sky."),
    Sample("gradient-16", "16-bit gradient", "A 16-bit ramp whose waves are lost at 8 bit."),
    Sample("zone-plate", "Zone plate", "Rings of every frequency: shows what a filter lets through."),
    Sample("step-edges", "Step edges", "Edges of every angle and several heights: for edge masks."),
    Sample("impulse", "Impulse", "One white pixel: the filtered picture is the mask itself."),
    Sample("checkerboard", "Checkerboard", "Squares of 1, 2, 4 and 8 pixels: for blur and borders."),
    Sample("noise", "Noise", "Grey with noise and single black and white pixels: for smoothing."),
)


def sample_path(key: str) -> Path:
    """Return the file of a sample; `UnknownName` lists those that there are."""
    for sample in SAMPLES:
        if sample.key == key:
            return sample.path
    known = ", ".join(sample.key for sample in SAMPLES)
    raise UnknownName(f"There is no sample picture {key!r}", "", f"Choose one of: {known}.")


def open_sample(key: str) -> Picture:
    """Open a sample picture; errors as of `sample_path` and `open_image`."""
    return open_image(sample_path(key))
