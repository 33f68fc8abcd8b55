"""What the engine would send to the window: pictures, devices, papers and tables; workspaces around them."""

from collections.abc import Callable

import numpy as np

from engine.course.paper import Cell, CourseKernel, CourseTable, Excerpt, Figure, Paper, Series
from engine.course.papers import RecordedPaper
from engine.device_info import DeviceInfo
from engine.explain.code_lines import Role, SourceFunction
from engine.geometry.block import Block
from engine.host.protocol import Filtered, PictureHandle, ScreenLevels
from engine.host.request import Availability, Ready, SharedArray, VariantInfo
from engine.host.shared import attach, create
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from tests.made_runs import MASK, made_reason


def make_picture(width: int = 512, height: int = 512, channels: int = 3) -> PictureHandle:
    """Return a picture's handle whose memory is never attached."""
    pixels = SharedArray("none", (height, width, channels), "uint8")
    return PictureHandle(pixels, None, ScreenLevels(()), "astronaut.png", "astronaut.png 512 × 512 RGB 8 bit")


def make_workspace() -> Workspace:
    """Return a workspace that describes `PROBLEM`."""
    workspace = Workspace(MASK)
    workspace.set_picture(make_picture())
    return workspace


CPU_DEVICE = DeviceInfo("cpu", "cpu", "CPU, 2 cores", True, None, True, {"cores": "2", "memory": "8 GiB"})
NO_CUDA = "There is no NVIDIA driver here. Install one, or choose the simulator for small pictures."
CUDA_DEVICE = DeviceInfo("cuda:0", "cuda", "NVIDIA H200", True, None, True, {"memory": "141 GB"})
MISSING_CUDA_DEVICE = DeviceInfo("cuda:0", "cuda", "CUDA", False, made_reason(NO_CUDA), True)
SIMULATOR_DEVICE = DeviceInfo("simulator", "cuda", "CUDA simulator", True, None, False)

REMARK = "It needs shared memory for the halo too."
CPU_BLOCK, GPU_BLOCK = Block(1, 1), Block(16, 16)
VARIANTS = (
    VariantInfo("cpu-serial", "CPU, one thread", "cpu", "The textbook loops.", CPU_BLOCK, False),
    VariantInfo("cpu-parallel", "CPU, all cores", "cpu", "Every core and its vectors.", CPU_BLOCK, False),
    VariantInfo("naive", "Naive", "cuda", "One thread per pixel, all from global memory.", GPU_BLOCK, True),
    VariantInfo(
        "tiled", "Tiled", "cuda", "The input tile with its halo in shared memory.", Block(32, 8), True, REMARK
    ),
    VariantInfo("cached", "Cached", "cuda", "A tile of a block; the halo comes from L2.", GPU_BLOCK, True),
)


def make_engine_state(*, cuda: bool = True, refused: dict[str, Availability] | None = None) -> EngineState:
    """Return the state of a host that is up; without CUDA three variants are refused with the reason."""
    state = EngineState()
    gpu = CUDA_DEVICE if cuda else MISSING_CUDA_DEVICE
    state.set_ready(Ready(VARIANTS, (CPU_DEVICE, gpu, SIMULATOR_DEVICE)))
    missing = () if cuda else ("naive", "tiled", "cached")
    reasons = {key: Availability(key, made_reason(NO_CUDA)) for key in missing} | (refused or {})
    state.set_availability(tuple(reasons.get(variant.key, Availability(variant.key)) for variant in VARIANTS))
    return state


NO_GPU = "There is no NVIDIA driver here. Install one to measure the GPU's times."
NOT_MEASURED = "not measured yet"

_NAIVE = CourseKernel(
    "ConvolutionKernel", "2.) Device Function", "naive", "gaussian:5:1", Block(32, 8), border="replicate",
    difference="Sums are float32, not double.", names={"row": "i", "column": "j"},
)  # fmt: skip
PAPER = Paper(
    key="report",
    title="CUDA Assignment 3: 2D Convolution",
    authors="Two students",
    source="A university, 2017",
    about="A 5 × 5 mask on matrices of 512, 1024 and 2048.",
    kernels=(CourseKernel("the serial reference", "Results", "cpu-serial", "gaussian:5:1"), _NAIVE),
    tables=("Time and speed-up", "Loads"),
)
_PRODUCT = CourseKernel("MatrixMul", "CGMA", "matmul-naive", block=Block(16, 16), task="product")
OTHER_PAPER = Paper(
    "lab", "Separable convolution", "One student", "Another university", "Two passes.", (_PRODUCT,),
    ("Speed-up",),
)  # fmt: skip
PAPERS = (PAPER, OTHER_PAPER)


def made_tables(*, measured: bool) -> tuple[CourseTable, ...]:
    """Return a table of times with a figure and one of loads, counted or measured without a GPU."""
    serial = Cell("0.0185", "0.0121") if measured else Cell("0.0185", reason=NOT_MEASURED)
    naive = Cell("0.0004", reason=NO_GPU if measured else NOT_MEASURED)
    sizes = (512.0, 1024.0, 2048.0)
    here = (12.1, 48.0, 190.0) if measured else (None, None, None)
    ours = Series("serial", sizes, here, "cpu-serial")
    printed = Series("serial", sizes, (18.5, 61.6, 213.0))
    columns = "Matrix size", "Thread-block size", "Time serial (s)", "Time naïve (s)"
    rows = tuple((Cell(f"{size:g}x{size:g}"), Cell("16"), serial, naive) for size in sizes)
    figure = Figure("Time by size", "size, pixels", "time, ms", (ours,), (printed,), log_y=True)
    loads = (Cell("8"), Cell("12", "12")), (Cell("16"), Cell("", "20"))
    return (
        CourseTable("Time and speed-up", columns, rows, ("Times are medians.",), figure),
        CourseTable("Loads", ("Tile", "Loads"), loads),
    )


def made_recorded_paper() -> RecordedPaper:
    """Return what an H200 had in the table of times."""
    rows = {(f"{size}x{size}", "16"): {"Time naïve (s)": "0.00002"} for size in (512, 1024, 2048)}
    machine = {"CUDA device": "NVIDIA H200", "CPU": "Xeon", "Made": "2026-11-23", "Commit": "abc"}
    return RecordedPaper(machine, {"Time and speed-up": rows})


Share = Callable[[np.ndarray], SharedArray]


def shared(array: np.ndarray) -> SharedArray:
    """Put an array into shared memory; the fixture `share` takes it away again."""
    (segment,) = create((array.shape, str(array.dtype)))
    attach(segment)[...] = array
    return segment


def screen_of(pixels: np.ndarray, share: Share, opacity: int = 255) -> ScreenLevels:
    """Return the screen form of uint8 pixels (H x W x 1 or 3): full size and one half, even opacity."""
    rows, columns = pixels.shape[:2]
    full = np.full((rows, columns, 4), 255, np.uint8)
    full[..., :3] = pixels[..., ::-1]
    full = (full.astype(np.uint16) * opacity // 255).astype(np.uint8)
    half = full[::2, ::2].copy()
    return ScreenLevels((share(full), share(half)), opaque=opacity == 255)


def handle_of(pixels: np.ndarray, share: Share, alpha: np.ndarray | None = None) -> PictureHandle:
    """Return a picture as the engine's process announces it."""
    screen = screen_of(pixels.astype(np.uint8), share)
    rows, columns, channels = pixels.shape
    values, opacity = share(pixels), None if alpha is None else share(alpha)
    description = f"made.png {columns} × {rows}, {channels} channels"
    return PictureHandle(values, opacity, screen, "made.png", description)


def filtered_of(values: np.ndarray, share: Share) -> Filtered:
    """Return float32 values as a result arrives."""
    shown = np.nan_to_num(values, posinf=255, neginf=0).clip(0, 255).astype(np.uint8)
    return Filtered(share(values.astype(np.float32)), screen_of(shown, share), "cpu-parallel", "cpu", 1.0)


def made_excerpts() -> tuple[tuple[Excerpt, ...], ...]:
    """Return the code of the made paper's kernels."""
    ours = "row, column = cuda.grid(2)", "out[row, column] = 1"
    code = SourceFunction(Role.KERNEL, "made", "engine/variants/ladder/made.py", 40, ours)
    return tuple((Excerpt(kernel.name, kernel.variant, code),) for kernel in PAPER.kernels)
