"""How long an edit takes to its pixels with the engine on another machine, beside the local one, in turns.

    python bench/remote.py [--edits 40]

A server is this machine, over an sshd that the script starts: as it is, and behind a pipe with a delay and 50
Mbit/s. Each edit is a preview of 1920 x 1080 with another mask; its pixels are those that are seen at the
zoom, as the window asks for them. What is over the time is sent at a coarser level first; then the exact
tiles are asked for, and their time is stated too.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from engine.host.request import Preview, Seen, segments_of
from engine.host.tiles import WantedTiles
from engine.image.open import open_image, sample_path
from engine.image.picture import Picture
from engine.image.save import save_image
from engine.mask.mask import Mask
from engine.remote.kept_results import places_in
from engine.remote.ssh import RemoteServer
from engine.work.messages import PictureJob
from engine.work.steps import Chain, MaskStep
from tests.engine.remote.sshd import PYTHON, Sshd

SEEN = (
    ("fitted into 1280 x 800", Seen(1, (0, 540), (0, 960))),
    ("1280 x 800 at full size", Seen(0, (140, 940), (320, 1600))),
    ("1920 x 1080 at full size", Seen(0, (0, 1080), (0, 1920))),
)


def picture_of(folder):
    """Return a photo of 1920 x 1080, scaled up from a sample, so that it has no tile twice."""
    small = np.asarray(open_image(sample_path("astronaut"))).astype(np.float32)
    rows, columns = np.linspace(0, 511, 1080), np.linspace(0, 511, 1920)
    r, c = rows.astype(int).clip(0, 510), columns.astype(int).clip(0, 510)
    fr, fc = (rows - r)[:, None, None], (columns - c)[None, :, None]
    big = (small[r][:, c] * (1 - fc) + small[r][:, c + 1] * fc) * (1 - fr)
    big += (small[r + 1][:, c] * (1 - fc) + small[r + 1][:, c + 1] * fc) * fr
    # The grain of a camera, which scaling up has taken away.
    big += np.random.default_rng(1).normal(0.0, 2.0, big.shape)
    save_image(Picture(big.clip(0, 255).astype(np.uint8)), str(folder / "photo.png"))
    return str(folder / "photo.png")


class Engine:
    def __init__(self, path, remote=None):
        self.client = EngineClient(remote=remote)
        self.client.start()
        self.picture = self.client.submit(OpenPicture(path=path)).result(60)

    def edit(self, number, seen, exact=False):
        """Return the ms from a preview to its pixels, and (`exact`) to those of the level that is seen."""
        weights = np.array([[1, 2, 1], [2, 4 + number % 7, 2], [1, 2, 1]], float)
        step = MaskStep(mask=Mask(weights / weights.sum()))
        job = PictureJob(chain=Chain((step,)), picture=self.picture)
        begin = time.perf_counter()
        found = self.client.submit(Preview(job, seen)).result(60)
        first_ms = last_ms = (time.perf_counter() - begin) * 1e3
        level = 0
        if found.tiles:
            level = found.tiles[-1].level
            if exact and level > seen.level:
                places = places_in(found.screen, seen, seen.level)
                tiles = self.client.submit(WantedTiles(found.screen, seen.level, places, job=job)).result(60)
                last_ms = (time.perf_counter() - begin) * 1e3
                self.client.release(*segments_of(tiles))
        self.client.release(*segments_of(found))
        return first_ms, last_ms, level


def compare(title, local, remote, seen, edits):
    """Print both in turns."""
    for engine in (local, remote):
        for number in range(8):
            engine.edit(number, seen, exact=True)
    here, there = [], []
    for number in range(edits):
        here.append(local.edit(number, seen))
        there.append(remote.edit(number, seen, exact=True))
    a = statistics.median(first for first, _, _ in here)
    b, c = (statistics.median(times) for times in list(zip(*there, strict=True))[:2])
    more = statistics.median(y[0] - x[0] for x, y in zip(here, there, strict=True))
    p80 = np.quantile([y[0] for y in there], 0.8)
    levels = sorted({y[2] for y in there})
    print(
        f"{title:58} local {a:6.1f} ms  remote {b:6.1f} (p80 {p80:.1f})  more {more:6.1f}  "
        f"exact {c:6.1f}  level {levels}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, sshd = picture_of(folder), Sshd(folder)
        local = Engine(path)
        try:
            for title, options in (
                ("loopback", sshd.options()),
                ("20 ms round trip, 50 Mbit/s", sshd.shaped(10, 50)),
                ("20 ms each way, 50 Mbit/s", sshd.shaped(20, 50)),
            ):
                if asked.only not in title:
                    continue
                remote = Engine(path, RemoteServer(sshd.to, PYTHON, options))
                for of, seen in SEEN:
                    compare(f"{title}, {of}", local, remote, seen, asked.edits)
                remote.client.shutdown()
        finally:
            local.client.shutdown()
            sshd.close()


if __name__ == "__main__":
    main()
