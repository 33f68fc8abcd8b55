"""The pictures of docs/tutorial.md, taken from the real window.

python docs/make_pictures.py      writes docs/pictures/tutorial-1.png to tutorial-5.png; look at each before a
commit
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PHOTO = "assets/samples/astronaut.png"
WIDTH, HEIGHT = 1280, 800
WHOLE = (0, 0, WIDTH, HEIGHT)
MASK_AND_PICTURE = (75, 52, 960, 520)
PLOTS_AND_RESULTS = (75, 521, WIDTH, 776)
PICTURE_AND_KERNEL = (360, 52, WIDTH, 520)
SOBEL = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]


def main() -> None:
    """Take every picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A session, because `screenshot` has no option for the block.
        session = folder / "block.json"
        document = {
            "format": "haloscope-session",
            "version": 1,
            "picture": {"path": "", "sample": "impulse"},
            "mask": {"name": "Sobel x", "weights": SOBEL},
            "settings": {
                "variant": "tiled",
                "device": "simulator",
                "block": [16, 16],
                "range_mode": "offset",
            },
        }
        session.write_text(json.dumps(document), encoding="utf-8")
        opened = taken(folder, PHOTO, "--mask", "identity")
        edited = taken(folder, PHOTO, "--mask", "sobel-x")
        run = taken(folder, PHOTO, "--mask", "sobel-x", "--run")
        simulated = taken(folder, "--session", str(session))
    parts = [
        opened.crop(WHOLE),
        edited.crop(MASK_AND_PICTURE),
        run.crop(WHOLE),
        run.crop(PLOTS_AND_RESULTS),
        simulated.crop(PICTURE_AND_KERNEL),
    ]
    for number, picture in enumerate(parts, 1):
        picture.convert("RGB").save(ROOT / f"docs/pictures/tutorial-{number}.png", optimize=True)


def taken(folder: Path, *arguments: str) -> Image.Image:
    """Return the window as `screenshot` shows it."""
    file = folder / "window.png"
    command = [sys.executable, "main.py", "screenshot", str(file), *arguments, "--size", f"{WIDTH}x{HEIGHT}"]
    subprocess.run(command, cwd=ROOT, check=True)
    return Image.open(file).convert("RGB")


if __name__ == "__main__":
    main()
