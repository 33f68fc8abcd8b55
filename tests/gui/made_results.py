"""Pictures, devices and workspaces as the engine would make them, for the tests of the window."""

from engine.device_info import DeviceInfo
from engine.geometry.block import Block
from engine.host.messages import Ready, VariantInfo
from engine.host.protocol import Availability, PictureHandle, ScreenLevels
from engine.host.shared_array import SharedArray
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from tests.made_runs import MASK


def make_picture(width: int = 512, height: int = 512, channels: int = 3) -> PictureHandle:
    """Return a picture's handle whose memory nobody attaches."""
    pixels = SharedArray("none", (height, width, channels), "uint8")
    return PictureHandle(pixels, None, ScreenLevels(()), "astronaut.png", "astronaut.png 512 x 512 RGB 8 bit")


def make_workspace() -> Workspace:
    """Return a workspace that describes `PROBLEM`."""
    workspace = Workspace(MASK)
    workspace.set_picture(make_picture())
    return workspace


CPU_DEVICE = DeviceInfo("cpu", "cpu", "CPU, 2 cores", True, "", True, {"cores": "2", "memory": "8 GiB"})
NO_CUDA = "There is no NVIDIA driver here. Install one, or choose the simulator for small pictures."
CUDA_DEVICE = DeviceInfo("cuda:0", "cuda", "NVIDIA H200", True, "", True, {"memory": "141 GB"})
MISSING_CUDA_DEVICE = DeviceInfo("cuda:0", "cuda", "CUDA", False, NO_CUDA, True)
SIMULATOR_DEVICE = DeviceInfo("simulator", "cuda", "CUDA simulator", True, "", False)

REMARK = "It needs shared memory for the halo too."
CPU_BLOCK, GPU_BLOCK = Block(1, 1), Block(16, 16)
VARIANTS = (
    VariantInfo("cpu-serial", "CPU, one thread", "cpu", "The textbook loops.", CPU_BLOCK, False),
    VariantInfo("cpu-parallel", "CPU, all cores", "cpu", "Every core and its vectors.", CPU_BLOCK, False),
    VariantInfo("naive", "Naive", "cuda", "One thread a pixel, all from global memory.", GPU_BLOCK, True),
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
    reasons = {} if cuda else {key: Availability(key, NO_CUDA) for key in ("naive", "tiled", "cached")}
    reasons |= refused or {}
    state.set_availability(tuple(reasons.get(variant.key, Availability(variant.key)) for variant in VARIANTS))
    return state
