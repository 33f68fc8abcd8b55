"""A process of the CUDA simulator: filters a picture whole and in bands with every variant, prints JSON."""

import json
import sys

import numpy as np

import engine
from engine.device.launches import DeviceKind
from engine.geometry.block import Block
from engine.variants.registry import VARIANTS
from tests.engine.variants.suited import block_for, mask_for

BORDERS = ("constant", "reflect", "wrap")
# Blocks with barriers cost the simulator 30 ms: of the other variants each gets one border, in turn.
EVERY_BORDER = ("naive", "register-blocked")


def main() -> None:
    """Print for each variant and border how many bands there were and whether every bit was the same."""
    random = np.random.default_rng(2)
    found = []
    for number, variant in enumerate(VARIANTS):
        if variant.device is not DeviceKind.CUDA or not variant.band_invariant or variant.library:
            continue
        mask = mask_for(variant, 3, 3)
        # High enough for two bands, which have twice the mask's rows at least.
        picture = random.random((max(16, 4 * mask.rows), 5), np.float32)
        bytes_of_it = (picture * 256).astype(np.uint8)
        block = block_for(variant, mask, Block(8, 4)) if variant.uses_block else None
        for border in BORDERS if variant.key in EVERY_BORDER else (BORDERS[number % len(BORDERS)],):
            how = {
                "border": border,
                "cval": 3.0 if variant.uint8_only else 0.3,
                "variant": variant.key,
                "block": block,
                "device": "simulator",
            }
            # Results of 8 bit once, where there are any: the way there is the same for all borders.
            kinds = [] if variant.uint8_only else [("float32", picture)]
            if variant.uint8_only or (variant.integer_output and border == BORDERS[-1]):
                kinds.append(("same", bytes_of_it))
            for result, image in kinds:
                whole = engine.correlate(image, mask, result=result, **how)
                streamed = engine.filter_stream(
                    image, mask, result=result, chunk_bytes=8 * 5 * whole.itemsize, **how
                )
                same = np.array_equal(whole.view(np.uint8), streamed.values.view(np.uint8))
                chunks, dtype = len(streamed.timeline.chunks), str(streamed.values.dtype)
                found.append(
                    {"variant": variant.key, "border": border, "dtype": dtype, "chunks": chunks, "same": same}
                )
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
