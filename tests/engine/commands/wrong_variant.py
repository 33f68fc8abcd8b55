"""A kernel that is wrong in one pixel, put in place of whatever is chosen."""

from dataclasses import replace

import engine.api.filtering


class _OnePixelOff:
    def __init__(self, prepared):
        self._prepared = prepared

    def launch(self, image, out, stream=None):
        self._prepared.launch(image, out, stream)
        out[0, 0, 0] += 1


def make_every_variant_wrong(monkeypatch):
    """Let the CPU variants of this process add 1 to their first result."""
    choose = engine.api.filtering.choose

    def wrong(*arguments):
        choice = choose(*arguments)
        variant = choice.variant
        broken = replace(variant, prepare=lambda *given: _OnePixelOff(variant.prepare(*given)))
        return replace(choice, variant=broken)

    monkeypatch.setattr(engine.api.filtering, "choose", wrong)
