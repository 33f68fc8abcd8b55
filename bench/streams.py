"""Pictures in chunks: end to end against the copies alone, for chunk sizes, ring depths, pinned and ordinary memory.

python -m bench.streams [--side 16384] [--pictures 1] [--mask 5] [--dtype float32] [--result-type same] [--timeline FILE.json]
python -m bench.streams --draw TIMELINE.json FILE.svg

Every combination is compared bit for bit with the unchunked call first. The copies alone are those of the same chunks,
between pinned memory and the device, timed by device events in the same run; "both at once" is what the bus allows when
it is used in both directions.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import engine
from engine.device.devices import backend, device_named
from engine.files import atomic_write
from engine.layout import Layout
from engine.mask.mask import Mask
from engine.problem import RESULT_TYPES
from engine.streams.chunking import LARGEST_CHUNK_BYTES, SMALLEST_CHUNK_BYTES
from engine.streams.drawing import draw
from engine.streams.filtering import DEFAULT_RING, Streamed
from engine.streams.timeline import Lane, Timeline, timeline_from_json
from engine.strict_json import json_text

REPEATS = 5


class _NoKernel:
    """A prepared variant that does nothing: what is left are the copies."""

    def launch(self, image: object, out: object, stream: object = None) -> None: ...


def copies_alone_ms(images: list[np.ndarray], outs: list[np.ndarray], chunk_bytes: int) -> dict[str, float]:
    """Return the medians of copying everything in, everything out, and both at once, ms; all arrays are pinned."""
    from engine.streams.cuda_lanes import CudaLanes
    from engine.streams.lanes import Work
    from engine.streams.pipeline import Pipeline
    from engine.streams.timeline import Chunk

    works = []
    for image, out in zip(images, outs, strict=True):
        rows = max(1, chunk_bytes // max(image[:1].nbytes, out[:1].nbytes))
        for top in range(0, len(image), rows):
            part, place = image[top : top + rows], out[top : top + rows]
            chunk = Chunk(len(works), 0, top, top + len(part), part.nbytes, place.nbytes)
            works.append(Work(chunk, (part,), place, 0, _NoKernel))

    def one_way(lane: Lane) -> float:
        lanes = CudaLanes(Layout.PITCHED)
        begin = lanes.mark(lane)
        for number, work in enumerate(works):
            on_device, result = lanes.arrays(number % DEFAULT_RING, work)
            if lane is Lane.COPY_IN:
                lanes.copy_in(work.sources[0], on_device, 0)
            else:
                lanes.copy_out(result, 0, work.target)
        end = lanes.mark(lane)
        lanes.drain()
        taken = lanes.ms(end) - lanes.ms(begin)
        lanes.close()
        return taken

    def both() -> float:
        lanes = CudaLanes(Layout.PITCHED)
        pipeline = Pipeline(lanes, DEFAULT_RING, time.perf_counter())
        begin_s = time.perf_counter()
        pipeline.run(works, lambda work: None)
        taken = (time.perf_counter() - begin_s) * 1e3
        lanes.close()
        return taken

    ways: dict[str, Callable[[], float]] = {
        "copy in": lambda: one_way(Lane.COPY_IN),
        "copy out": lambda: one_way(Lane.COPY_OUT),
        "both at once": both,
    }
    return {name: statistics.median([way() for _ in range(REPEATS + 1)][1:]) for name, way in ways.items()}


def pictures_for(arguments: argparse.Namespace, *, pinned: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return pictures of noise and places for their results."""
    make = engine.pinned_array if pinned else np.empty
    random, shape = np.random.default_rng(1), (arguments.side, arguments.side, arguments.channels)
    images, outs = [], []
    for _ in range(arguments.pictures):
        image = make(shape, arguments.dtype)
        band = random.integers(0, 256, (min(256, arguments.side), *shape[1:])).astype(arguments.dtype)
        for top in range(0, arguments.side, len(band)):
            image[top : top + len(band)] = band[: arguments.side - top]
        # No two bands alike: a chunk in the wrong place would not be seen.
        image[:, 0, 0] = np.arange(arguments.side) % 251
        out = make(shape, arguments.dtype if arguments.result_type == "same" else np.float32)
        poison(out)
        images.append(image)
        outs.append(out)
    return images, outs


def poison(out: np.ndarray) -> None:
    """Fill a place with what no result is made of, so that a sample that nobody writes is seen."""
    out.fill(np.nan if out.dtype.kind == "f" else 255)


def stream(
    images: list[np.ndarray], outs: list[np.ndarray], mask: Mask, arguments: argparse.Namespace, chunk_bytes: int, ring: int
) -> Streamed:  # fmt: skip
    """Filter once."""
    return engine.filter_stream(
        images, mask, out=outs, border="mirror", variant=arguments.variant, device=arguments.device,
        chunk_bytes=chunk_bytes, ring=ring, result=arguments.result_type,
    )  # fmt: skip


def measure(arguments: argparse.Namespace) -> Timeline:
    """Print the table and return the timeline of the best combination."""
    device = device_named(arguments.device)
    on_gpu = device.key.startswith("cuda:")
    weights = np.random.default_rng(2).random((arguments.mask, arguments.mask))
    # A mean: sums of 8 bit would all be 255.
    mask = Mask(weights / weights.sum(), name="noise")
    best: Timeline | None = None
    for pinned in (True, False) if on_gpu else (False,):
        images, outs = pictures_for(arguments, pinned=pinned)
        wanted = [
            engine.correlate(
                image, mask, border="mirror", variant=arguments.variant, device=arguments.device,
                result=arguments.result_type,
            )
            for image in images
        ]  # fmt: skip
        copies: dict[str, float] = {}
        if pinned:
            backend(device.key).activate()
        for chunk_bytes in arguments.chunks:
            if pinned:
                copies = copies_alone_ms(images, outs, chunk_bytes)
                print(f"copies alone, chunks of {chunk_bytes >> 20} MB: " + ", ".join(f"{n} {t:.2f} ms" for n, t in copies.items()))  # fmt: skip
                slower = max(copies["copy in"], copies["copy out"])
            for ring in arguments.rings if on_gpu else (DEFAULT_RING,):
                timelines = []
                for attempt in range(REPEATS + 1):
                    for out in outs:
                        poison(out)
                    timeline = stream(images, outs, mask, arguments, chunk_bytes, ring).timeline
                    if attempt == 0:
                        same = all(
                            np.array_equal(out.view(np.uint8), right.view(np.uint8))
                            for out, right in zip(outs, wanted, strict=True)
                        )
                    else:
                        timelines.append(timeline)
                timelines.sort(key=lambda timeline: timeline.end_to_end_ms)
                median = timelines[len(timelines) // 2]
                ratio = f"{median.end_to_end_ms / slower:5.2f}" if on_gpu else "    -"
                busy = ", ".join(f"{lane} {median.busy_ms(lane):.1f}" for lane in median.lanes)
                print(
                    f"{'pinned' if pinned else 'ordinary':9} chunk {chunk_bytes >> 20:4} MB  ring {median.ring:2}  "
                    f"{len(median.chunks):4} chunks  end to end {median.end_to_end_ms:9.2f} ms  ratio {ratio}  "
                    f"{'same bits' if same else 'DIFFERENT'}  busy: {busy}"
                )
                if best is None or median.end_to_end_ms < best.end_to_end_ms:
                    best = median
    assert best is not None
    return best


def main() -> None:
    """Measure, or draw a timeline."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--side", type=int, default=16384)
    parser.add_argument("--channels", type=int, default=1)
    parser.add_argument("--pictures", type=int, default=1)
    parser.add_argument("--mask", type=int, default=5)
    parser.add_argument("--dtype", default="float32", choices=("uint8", "uint16", "float32"))
    parser.add_argument("--result-type", default="float32", choices=RESULT_TYPES)
    parser.add_argument("--variant", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--chunks", type=int, nargs="+", default=[SMALLEST_CHUNK_BYTES, LARGEST_CHUNK_BYTES // 2, LARGEST_CHUNK_BYTES]
    )  # fmt: skip
    parser.add_argument("--rings", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--timeline", type=Path)
    parser.add_argument("--draw", type=Path, nargs=2, metavar=("TIMELINE", "PICTURE"))
    arguments = parser.parse_args()
    if arguments.draw:
        source, target = arguments.draw
        timeline = timeline_from_json(json.loads(source.read_text(encoding="utf-8")))
        atomic_write(target, draw(timeline, "png" if target.suffix == ".png" else "svg"))
        sys.exit()
    best = measure(arguments)
    if arguments.timeline:
        atomic_write(arguments.timeline, json_text(best.as_json()).encode())


if __name__ == "__main__":
    main()
