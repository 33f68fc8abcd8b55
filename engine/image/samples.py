"""The pictures that come with the program. `assets/LICENSES.md` says where they are from."""

from pathlib import Path
from typing import NamedTuple

from engine.errors import UnknownName
from engine.files.assets import ASSETS
from engine.image.open import open_image
from engine.image.picture import Picture


class Sample(NamedTuple):
    """A stable key for commands and sessions, a title, a sentence on what the picture shows, its size."""

    key: str
    title: str
    sentence: str
    width: int
    height: int

    @property
    def path(self) -> Path:
        """Its file."""
        return ASSETS / "samples" / f"{self.key}.png"


# The order in which they are offered; the first is the one that the window opens with.
SAMPLES: tuple[Sample, ...] = (
    Sample("astronaut", "Astronaut", "A colour photograph by NASA: skin, fabric and sharp edges.", 512, 512),
    Sample(
        "camera", "Camera", "A grey photograph of a man with a camera: fine grass and a smooth sky.", 512, 512
    ),
    Sample("gradient-16", "16-bit gradient", "A 16-bit ramp whose waves are lost at 8 bit.", 256, 256),
    Sample(
        "zone-plate", "Zone plate", "Rings of every frequency: shows what a filter lets through.", 256, 256
    ),
    Sample("step-edges", "Step edges", "Edges of every angle and several heights: for edge masks.", 256, 256),
    Sample("impulse", "Impulse", "One white pixel: the filtered picture is the mask itself.", 63, 63),
    Sample(
        "checkerboard", "Checkerboard", "Squares of 1, 2, 4 and 8 pixels: for blur and borders.", 256, 256
    ),
    Sample("noise", "Noise", "Grey with noise and single black and white pixels: for smoothing.", 256, 256),
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
