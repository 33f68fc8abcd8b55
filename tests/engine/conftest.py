"""The engine asked in this process, as a host is."""

import numpy as np
import pytest

from engine.host import shared, tile_jobs
from engine.host.protocol import WantedValues
from engine.host.request import answer, segments_of


@pytest.fixture
def ask():
    """Return a function that asks the engine in this process; what it took is given back."""
    names: list[str] = []

    def asked(request):
        reply = answer(request, lambda step: None)
        names.extend(segments_of(reply))
        return reply

    yield asked
    shared.unlink(*names)


@pytest.fixture
def in_files(monkeypatch):
    """Keep arrays of any size in their files; afterwards close all."""
    monkeypatch.setattr(tile_jobs, "_IN_MEMORY_BYTES", 0)
    yield
    for tiles in tile_jobs._open.values():
        tiles.picture.close()
    tile_jobs._open.clear()


@pytest.fixture
def assert_parts(ask):
    """Return a function that checks some parts of a job's result against the whole."""

    def check(screen, job, whole):
        rows, columns = whole.shape[:2]
        for down, across in (
            ((0, 9), (0, columns)),
            ((rows - 11, rows), (columns - 10, columns)),
            ((55, 130), (60, 66)),
        ):
            found = shared.attach(ask(WantedValues(screen, down, across, job=job)).values)
            np.testing.assert_array_equal(found, whole[slice(*down), slice(*across)])

    return check
