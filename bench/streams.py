"""Pictures in chunks: end to end against the copies alone, for chunk sizes, ring depths and kinds of memory.

python -m bench.streams [--side 16384] [--pictures 1] [--mask 5] [--dtype float32] [--result-type same]
[--memory pinned]
    [--timeline FILE.json]
python -m bench.streams --draw TIMELINE.json FILE.svg

Every combination is compared bit for bit with the unchunked call first. The copies alone are those of the
same chunks, between pinned memory and the device, timed by device events, in turns with the streams; "both at
once" is what the bus allows when it is used in both directions.
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
from bench.timeline_drawing import draw, timeline_from_json
from engine.device.devices import backend, device_named
from engine.files.atomic_write import atomic_write
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.results.strict_json import json_text
from engine.streams.chunking import LARGEST_CHUNK_BYTES, SMALLEST_CHUNK_BYTES
from engine.streams.filtering import DEFAULT_RING, Streamed
from engine.streams.timeline import Queue, Timeline
from engine.tasks.filtering.problem import RESULT_TYPES

REPEATS = 11


class _NoKernel:
    """A prepared variant that does nothing: what is left are the copies."""

    def launch(self, image: object, out: object, stream: object = None) -> None: ...


def copies_alone(
    images: list[np.ndarray], outs: list[np.ndarray], chunk_bytes: int
) -> dict[str, Callable[[], float]]:
    """Return what copies everything in, everything out, and both at once, and says how long it took, ms.

    All arrays are pinned.
    """
    from engine.streams.chunk_jobs import ChunkJob
    from engine.streams.cuda_queues import CudaQueues
    from engine.streams.pipeline import Pipeline
    from engine.streams.timeline import Chunk

    jobs = []
    for image, out in zip(images, outs, strict=True):
        rows = max(1, chunk_bytes // max(image[:1].nbytes, out[:1].nbytes))
        for top in range(0, len(image), rows):
            part, place = image[top : top + rows], out[top : top + rows]
            chunk = Chunk(len(jobs), 0, top, top + len(part), part.nbytes, place.nbytes)
            jobs.append(ChunkJob(chunk, (part,), place, 0, _NoKernel))

    def one_way(queue: Queue) -> float:
        queues = CudaQueues(Layout.PITCHED)
        begin = queues.mark(queue)
        for number, job in enumerate(jobs):
            if queue is Queue.COPY_IN:
                queues.copy_in(job.sources[0], queues.image(number % DEFAULT_RING, job), 0)
            else:
                queues.copy_out(queues.result(number % DEFAULT_RING, job), 0, job.target)
        end = queues.mark(queue)
        queues.drain()
        taken = queues.ms(end) - queues.ms(begin)
        queues.close()
        return taken

    def both() -> float:
        queues = CudaQueues(Layout.PITCHED)
        pipeline = Pipeline(queues, DEFAULT_RING, time.perf_counter())
        begin_s = time.perf_counter()
        pipeline.run(jobs, lambda job: None)
        taken = (time.perf_counter() - begin_s) * 1e3
        queues.close()
        return taken

    return {
        "copy in": lambda: one_way(Queue.COPY_IN),
        "copy out": lambda: one_way(Queue.COPY_OUT),
        "both at once": both,
    }


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
    """Fill a place with what no result is made of, so that unwritten samples are seen."""
    out.fill(np.nan if out.dtype.kind == "f" else 255)


def stream(
    images: list[np.ndarray],
    outs: list[np.ndarray],
    mask: Mask,
    arguments: argparse.Namespace,
    chunk_bytes: int,
    ring: int,
) -> Streamed:
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
    found: list[Timeline] = []
    for memory in arguments.memory if on_gpu else ("ordinary",):
        images, outs = pictures_for(arguments, pinned=memory == "pinned")
        wanted = [
            engine.correlate(
                image, mask, border="mirror", variant=arguments.variant, device=arguments.device,
                result=arguments.result_type,
            )
            for image in images
        ]  # fmt: skip
        if on_gpu:
            backend(device.key).activate()
        for chunk_bytes in arguments.chunks:
            print(f"{memory} memory, chunks of {chunk_bytes >> 20} MB")
            copies = copies_alone(images, outs, chunk_bytes) if memory == "pinned" else {}
            rings = arguments.rings if on_gpu else [DEFAULT_RING]
            found += compare(images, outs, wanted, mask, arguments, chunk_bytes, rings, copies)
    return min(found, key=lambda timeline: timeline.end_to_end_ms)


def compare(
    images: list[np.ndarray], outs: list[np.ndarray], wanted: list[np.ndarray], mask: Mask,
    arguments: argparse.Namespace, chunk_bytes: int, rings: list[int], copies: dict[str, Callable[[], float]],
) -> list[Timeline]:  # fmt: skip
    """Print a line for each way of copying and each ring, and return the median timelines.

    They take turns, so that what else the machine does meets all of them. Nobody touches the host's memory in
    between: what the host has just written, the copy engines find in its caches.
    """
    is_same = {}
    for ring in rings:
        for out in outs:
            poison(out)
        stream(images, outs, mask, arguments, chunk_bytes, ring)
        is_same[ring] = all(
            np.array_equal(out.view(np.uint8), right.view(np.uint8))
            for out, right in zip(outs, wanted, strict=True)
        )
    times_ms: dict[str, list[float]] = {name: [] for name in copies}
    timelines: dict[int, list[Timeline]] = {ring: [] for ring in rings}
    for attempt in range(REPEATS + 1):
        for name, way in copies.items():
            times_ms[name].append(way())
        for ring in rings:
            timelines[ring].append(stream(images, outs, mask, arguments, chunk_bytes, ring).timeline)
        if attempt == 0:
            for kept in (*times_ms.values(), *timelines.values()):
                kept.clear()
    medians_ms = {name: statistics.median(kept) for name, kept in times_ms.items()}
    slower_ms = max(medians_ms["copy in"], medians_ms["copy out"]) if medians_ms else None
    for name, kept in times_ms.items():
        print(f"  {name:13} {_told(kept, slower_ms)}")
    found = []
    for ring, kept in timelines.items():
        kept.sort(key=lambda timeline: timeline.end_to_end_ms)
        median = kept[len(kept) // 2]
        busy = ", ".join(f"{queue} {median.busy_ms(queue):.1f}" for queue in median.queues)
        print(
            f"  ring of {median.ring:2}    {_told([one.end_to_end_ms for one in kept], slower_ms)}  "
            f"{len(median.chunks):4} chunks, {'same bits' if is_same[ring] else 'DIFFERENT'}; busy: {busy}"
        )
        found.append(median)
    return found


def _told(times_ms: list[float], slower_ms: float | None) -> str:
    median, low, high = (float(np.percentile(times_ms, at)) for at in (50, 20, 80))
    ratio = "" if slower_ms is None else f"  {median / slower_ms:5.2f} x the slower copy"
    return f"{median:9.2f} ms (p20 {low:.2f}, p80 {high:.2f}){ratio}"


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
    chunks = [SMALLEST_CHUNK_BYTES, LARGEST_CHUNK_BYTES // 2, LARGEST_CHUNK_BYTES]
    parser.add_argument("--chunks", type=int, nargs="+", default=chunks)
    parser.add_argument("--memory", nargs="+", choices=("pinned", "ordinary"), default=["pinned", "ordinary"])
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
