"""A kernel that is wrong in one pixel, in place of the one that is chosen."""

from engine.tasks.filtering.task import Filtering


class OnePixelOff:
    def __init__(self, prepared):
        self._prepared = prepared

    def launch(self, image, out, stream=None):
        self._prepared.launch(image, out, stream)
        out[0, 0, 0] += 1


def make_every_variant_wrong(monkeypatch):
    """Let the CPU variants of this process add 1 to their first result."""
    prepare = Filtering.prepare
    monkeypatch.setattr(Filtering, "prepare", lambda *given: OnePixelOff(prepare(*given)))
