"""What the engine would tell of the network: its layers, stages, filters and digits, an answer, runs."""

from dataclasses import replace

import numpy as np

from engine.host.request import Availability, VariantInfo
from engine.results.measurement import Environment
from engine.tasks.network import problem
from engine.tasks.network.problem import LAYERS
from gui.network.layers import Facts
from tests.gui.made_results import CPU_BLOCK, GPU_BLOCK, NO_CUDA
from tests.made_runs import PROVED, made_reason, make_timing

DIGITS = 12
STAGES = (
    VariantInfo("network-serial", "Serial, one thread", "cpu", "Loop nests.", CPU_BLOCK, False),
    VariantInfo("network-cpu", "CPU, sums in registers", "cpu", "Tiles of outputs.", CPU_BLOCK, False),
    VariantInfo("network-fused", "Pool fused", "cuda", "One kernel for two layers.", GPU_BLOCK, False),
)
KERNEL_MS = {"network-serial": 1200.0, "network-cpu": 60.0}


def made_weights() -> list[np.ndarray]:
    """Filters of both convolutions, weights of both connected layers: each value is another one."""
    random = np.random.default_rng(7)
    shapes = ((32, 1, 5, 5), (64, 32, 5, 5), (1024, 128), (128, 10))
    return [random.normal(0.0, 0.1, shape).astype(np.float32) for shape in shapes]


def made_digits() -> tuple[np.ndarray, tuple[int, ...]]:
    """A stroke each, at another column; the labels go round."""
    pixels = np.zeros((DIGITS, 28, 28), np.uint8)
    for number in range(DIGITS):
        pixels[number, 4:24, number + 4 : number + 8] = 255
    return pixels, tuple(number % 10 for number in range(DIGITS))


def made_facts() -> Facts:
    """All of it as the page Network keeps it."""
    keys = "convolution-1", "convolution-2", "hidden", "output"
    pixels, labels = made_digits()
    return Facts(LAYERS, STAGES, dict(zip(keys, made_weights(), strict=True)), pixels, labels)


def made_values(ink: bytes) -> list[np.ndarray]:
    """Layers that depend on the ink alone; not what the network would say."""
    drawing = np.frombuffer(ink, np.uint8).reshape(28, 28).astype(np.float32) / 255
    values = []
    for layer in LAYERS:
        ramp = np.arange(layer.values, dtype=np.float32).reshape(layer.shape) / layer.values
        values.append(ramp * drawing.mean())
    return values


def network_facts(make) -> problem.NetworkFacts:
    pixels, labels = made_digits()
    return problem.NetworkFacts(LAYERS, STAGES, *make(*made_weights(), pixels), labels)


def recognised(ink: bytes, make) -> problem.Recognised:
    shared_maps = make(*made_values(ink))
    layers = tuple(map(problem.LayerMaps, LAYERS, shared_maps))
    chances = [0.01] * 10
    chances[7] = 0.91
    return problem.Recognised(layers, tuple(chances), 7, 12.0)


def checked_stages(device: str) -> tuple[Availability, ...]:
    has_gpu = device == "simulator"
    return tuple(
        Availability(stage.key, made_reason("" if stage.kind == "cpu" or has_gpu else NO_CUDA))
        for stage in STAGES
    )


def made_run(stage: str, batch: int = 100, **fields: object) -> problem.NetworkRun:
    """A verified run: serial has a time for each layer, others for pairs of them."""
    known = next(one for one in STAGES if one.key == stage)
    ms = KERNEL_MS.get(stage, 1.0)
    device = "cpu" if known.kind == "cpu" else "cuda:0"
    about = {"timing": make_timing(ms, cuda=device != "cpu"), "verification": PROVED, "weights_digest": "abc"}
    environment = Environment("CPU, 2 cores")
    what = problem.ForwardPass(batch)
    result = problem.NetworkResult(stage, known.title, device, what, None, environment, **about)
    keys = [layer.key for layer in LAYERS]
    pairs = [" + ".join(pair) for pair in zip(keys[::2], keys[1::2], strict=True)]
    names = keys if stage == "network-serial" else pairs
    layers = tuple(problem.LayerTime(name, ms / len(names)) for name in names)
    spans = problem.ChunkSpan(0, 0, "copy in", 0.0, 0.2), problem.ChunkSpan(0, 0, "kernels", 0.2, 1.0)
    return problem.NetworkRun(replace(result, **fields), layers, () if device == "cpu" else spans)
