"""NVIDIA's disassembler of machine code, nvdisasm: found where it is, else said how to get it."""

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from cuda.pathfinder import find_nvidia_binary_utility

from engine.errors import BadValue, EngineError

MISSING = (
    "it needs NVIDIA's disassembler nvdisasm, which is not installed",
    "`pip install nvidia-cuda-nvdisasm` brings it (5 MB; a CUDA toolkit has it too). No GPU is needed.",
)
_MOST_SECONDS = 60


@functools.cache
def disassembler() -> str | None:
    """Return the path of nvdisasm; None where there is none.

    cuobjdump would not help: it calls nvdisasm.
    """
    # Where NVIDIA's wheels and toolkits put it.
    return shutil.which("nvdisasm") or find_nvidia_binary_utility("nvdisasm")


def disassembled(machine_code: bytes) -> str:
    """Return what nvdisasm writes of machine code, with the lines of the source."""
    tool = disassembler()
    if tool is None:
        raise BadValue("SASS", *MISSING)
    with tempfile.TemporaryDirectory(prefix="haloscope-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(machine_code)
        try:
            done = subprocess.run(
                [tool, "-c", "-g", str(path)],
                capture_output=True,
                text=True,
                timeout=_MOST_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            why = (getattr(error, "stderr", "") or str(error)).strip().split("\n")[-1]
            remedy = "A newer one may know this architecture: `pip install -U nvidia-cuda-nvdisasm`."
            raise EngineError(f"{tool} failed", why, remedy) from error
    return done.stdout
