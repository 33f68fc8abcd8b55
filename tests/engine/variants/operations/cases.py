"""The cases that every way to compute an operation must get right, and the one check of a way on a case."""

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from engine.device.devices import backend
from engine.geometry.block import Block, Layout
from engine.run.measure import NO_SAMPLES, measure
from engine.work.resolve import Resolved
from tests.picture_jobs import operation_request


@dataclass(frozen=True)
class Case:
    """One operation on a picture whose pixels follow from its shape."""

    operation: str
    settings: dict = field(default_factory=dict)
    height: int = 9
    width: int = 11
    channels: int = 1
    dtype: str = "uint8"
    pixels: str = "even"  # "even" (random), "strange" (NaN and infinity too), "flat" or "few" (four values)
    block: Block | None = None

    def __str__(self):
        settings = ",".join(f"{name}={value}" for name, value in self.settings.items())
        size = f"{self.width}x{self.height}x{self.channels}"
        return f"{self.operation}-{settings}-{size}-{self.dtype}-{self.pixels}-{self.block or ''}"

    def picture(self):
        """Return the picture."""
        shape = self.height, self.width, self.channels
        random = np.random.default_rng([*shape, len(self.pixels)])
        if self.dtype == "float32":
            picture = random.random(shape, np.float32) * np.float32(1.25) - np.float32(0.125)
        else:
            picture = random.integers(0, np.iinfo(self.dtype).max, shape, self.dtype, endpoint=True)
        if self.pixels == "few":
            picture = (picture // 64 * 64).astype(self.dtype)
        if self.pixels == "flat":
            picture[: self.height // 2] = picture[0, 0]
        if self.pixels == "strange":
            picture[0, 0, 0], picture[-1, -1, -1], picture[0, -1, 0] = np.nan, np.inf, -np.inf
            # Each channel alone, one cell alone in its window.
            for channel in range(self.channels):
                picture[-2, channel + 1, channel] = np.nan
        return picture

    def resolved(self, variant, device):
        """Return the operation, resolved for a variant and a device."""
        asked = operation_request(
            operation=self.operation,
            settings=self.settings,
            variant=variant.key,
            block=self.block,
            device=device,
            layout=Layout.PITCHED,
        )
        return Resolved(asked, self.picture())


def _of(operation, *settings, channels=(1, 3)):
    for chosen, number, dtype in product(settings, channels, ("uint8", "uint16", "float32")):
        yield Case(operation, chosen, channels=number, dtype=dtype)


_REGULAR = (
    *_of("negative", {}),
    *_of("desaturate", {}, {"weights": "equal"}, channels=(3,)),
    *_of("hue-shift", {"degrees": 120}, {"degrees": -33.3}, channels=(3,)),
    *_of("histogram", {}, {"bins": 16}),
    *_of("equalise", {}, {"bins": 16}),
    *_of("median", {"size": 3}, {"size": 5}),
    *_of("threshold", {}, {"level": 0.2}),
    *_of("gradient-magnitude", {}, {"mask": "scharr"}),
    *_of("minimum", {}, {"size": 7}),
    *_of("maximum", {"size": 5}),
    *_of("morphology", {"kind": "open", "size": 5}, {"kind": "top-hat"}, {"kind": "gradient"}),
    *_of("morphology", {"kind": "close", "size": 5}, {"kind": "black-hat"}, channels=(3,)),
    *_of("bilateral", {}, {"size": 7, "colour": 0.02}),
    *_of("find-patch", {"width": 5, "height": 3}),
    *_of("compress", {"quality": 90}, {"quality": 10}),
)
_ODD = (
    Case("negative", dtype="float32", pixels="strange"),
    Case("negative", height=1, width=1),
    Case("negative", height=1, width=70, channels=4),
    Case("desaturate", channels=3, dtype="float32", pixels="strange"),
    Case("hue-shift", channels=3, dtype="float32", pixels="strange"),
    Case("hue-shift", {"degrees": 360}, channels=3, pixels="few"),
    Case("hue-shift", {"degrees": 0}, channels=3, pixels="flat"),
    Case("histogram", channels=3, dtype="float32", pixels="strange"),
    Case("histogram", {"bins": 4}, height=1, width=1),
    Case("histogram", pixels="flat", height=33, width=9),
    Case("histogram", {"bins": 16}, channels=4, dtype="uint16", pixels="few"),
    Case("equalise", channels=3, dtype="float32", pixels="strange"),
    Case("equalise", {"bins": 16}, height=1, width=1, dtype="uint16"),
    Case("equalise", height=1, width=1, dtype="float32"),
    Case("equalise", pixels="flat", height=33, width=9),
    Case("equalise", {"bins": 16}, channels=4, dtype="uint16", pixels="few"),
    Case("median", {"size": 3}, channels=3, dtype="float32", pixels="strange"),
    Case("median", {"size": 5}, channels=3, dtype="float32", pixels="strange"),
    Case("median", {"size": 3}, height=1, width=40, channels=4),
    Case("median", {"size": 5}, height=40, width=1, channels=2, dtype="uint16"),
    Case("median", {"size": 5}, height=1, width=2, dtype="uint16"),
    Case("median", {"size": 3}, height=2, width=1, dtype="float32"),
    Case("median", {"size": 5}, dtype="uint16", pixels="few"),
    Case("threshold", dtype="float32", pixels="strange"),
    Case("gradient-magnitude", dtype="float32", pixels="strange"),
    Case("gradient-magnitude", {"mask": "scharr"}, height=1, width=1, channels=4),
    Case("gradient-magnitude", {"mask": "prewitt"}, pixels="flat"),
    Case("minimum", channels=3, dtype="float32", pixels="strange"),
    Case("maximum", {"size": 15}, height=2, width=3, channels=4),
    Case("maximum", {"size": 5}, channels=3, dtype="float32", pixels="strange"),
    Case("morphology", {"kind": "gradient", "size": 5}, height=1, width=20),
    Case("morphology", {"kind": "top-hat"}, height=20, width=1, dtype="float32"),
    Case("bilateral", {"size": 15, "space": 50, "colour": 10}, height=3, width=2, dtype="float32"),
    Case("bilateral", {"space": 0.1, "colour": 0.001}, pixels="few"),
    Case("find-patch", {"width": 7, "height": 3, "top": 3, "left": 4}, dtype="float32", pixels="strange"),
    Case("find-patch", {"width": 5, "height": 3, "top": 5}, pixels="flat"),
    # The mean of 21 equal floats is rounded, so that they seem to differ from it.
    Case("find-patch", {"width": 7, "height": 3, "top": 5}, dtype="float32", pixels="flat"),
    Case("find-patch", {"width": 11, "height": 9}, channels=3),
    # Places across, of which `cpu-match` takes 256 at a time.
    Case("find-patch", {"width": 3, "height": 1}, height=2, width=300, channels=4),
    Case("find-patch", {"width": 1, "height": 5}, height=70, width=1, dtype="uint16"),
    Case("compress", height=1, width=1, dtype="float32"),
    Case("compress", {"quality": 75}, height=17, width=1, channels=4),
    Case("compress", {"quality": 1}, height=8, width=16),
    Case("compress", {"quality": 100}, pixels="flat"),
)
CASES = (*_REGULAR, *_ODD)
# Further blocks, for kernels.
BLOCKS = (
    Case("negative", channels=3, block=Block(5, 3)),
    Case("histogram", block=Block(5, 3)),
    Case("histogram", height=33, width=33, channels=3, block=Block(16, 1)),
    Case("equalise", height=33, width=33, channels=3, block=Block(16, 1)),
    Case("median", {"size": 3}, block=Block(1, 1), height=4, width=5),
    Case("median", {"size": 3}, dtype="float32", block=Block(7, 5)),
    Case("find-patch", {"width": 5, "height": 3}, block=Block(3, 5), channels=3),
    Case("compress", {"quality": 40}, block=Block(8, 8)),
    Case("compress", {"quality": 40}, block=Block(16, 24), channels=3),
)
# Settings and types are those of few kernels: a compilation takes as long as 20 of these pictures.
# Blocks of which the last ones of a picture are incomplete; of the median one for each size and type.
SMALL = Block(4, 3)
OF_MEDIAN = {(3, "uint8"): Block(1, 1), (3, "float32"): Block(7, 5)}


def _small(case):
    """Return a case as the simulator takes it, which would take long over large pictures."""
    if case.operation == "find-patch":
        return case if case.block else replace(case, block=Block(3, 5))
    if case.operation == "compress":
        return replace(case, height=min(case.height, 9), width=min(case.width, 10), block=Block(8, 8))
    # A thread counts 16 samples of a column.
    most_rows = 17 if case.operation in ("histogram", "equalise") else 5
    height, width, channels = min(case.height, most_rows), min(case.width, 7), min(case.channels, 3)
    block = case.block or OF_MEDIAN.get((case.settings.get("size"), case.dtype), SMALL)
    return replace(case, height=height, width=width, channels=channels, block=block)


# Each type, number of channels, setting and kind of pixels occurs, and further blocks of tall pictures.
SIMULATED = tuple(_small(case) for case in (*_REGULAR[::5], *_ODD, *BLOCKS[2:4]) if case.width < 300)


def takes_long_to_compile(case):
    """Return whether a case is for `-m matrix`: its code for the CPU takes 1 to 4 s, from the same source."""
    if case.operation == "median":
        return case.settings["size"] == 5 and case.dtype != "uint16"
    return case.dtype == "uint16" and case.operation in ("compress", "bilateral", "maximum", "morphology")


def cases_of(variant, *, with_blocks):
    """Return the cases of a variant's operation."""
    every = (*CASES, *BLOCKS) if with_blocks else CASES
    return [case for case in every if case.operation == variant.operation]


def check(variant, case, device):
    """Compute in one way, over fills, and verify; return the resolved operation and its outcome."""
    resolved = case.resolved(variant, device)
    outcome = measure(resolved.job(), backend(device), NO_SAMPLES)
    assert outcome.result.is_proven, f"{variant.key}, {case}: {outcome.result.status}"
    return resolved, outcome
