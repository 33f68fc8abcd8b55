"""The machine behind a run: its name, and what decides how fast it was."""

import shutil
import subprocess
from typing import Any

from bench.peers.summary import LIMIT
from engine.device.device_list import cpu_info
from engine.process import cores

_SMI = ("name", "driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "temperature.gpu", "power.draw")


def gpu_state() -> dict[str, str]:
    """Return what nvidia-smi says of the first GPU at this moment; empty where it is not there."""
    if shutil.which("nvidia-smi") is None:
        return {}
    command = ["nvidia-smi", "--id=0", f"--query-gpu={','.join(_SMI)}", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, check=True, timeout=20, text=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(_SMI, (text.strip() for text in answer.splitlines()[0].split(",")), strict=False))


def describe(device_kind: str, threads: int, facts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the machine for the record: device, threads, facts in words, and the GPU's state now.

    `device_kind`: "gpu" or "cpu". `facts`: what each library says about itself, by its key.
    """
    if device_kind == "cpu":
        info = cpu_info().facts
        return {
            "device": f"{info['model']}, {cores()} cores",
            "threads": threads,
            "facts": ["the limit is a copy of the picture by as many threads"],
        }
    limits = facts.get(LIMIT, {}).get("notes", {})
    state = gpu_state()
    said = []
    if limits:
        said = [
            f"limit: max(copy, multiply-adds / rate); a copy of 1 GiB moves "
            f"{limits['copy_bytes_per_s'] / 1e12:.2f} TB/s (read and written); "
            f"{limits['multiply_adds_per_s'] / 1e12:.1f} T multiply-adds/s = {limits['multiprocessors']} "
            f"multiprocessors at {limits['clock_mhz']:.0f} MHz; a picture is copied no slower than a smaller "
            "one past the L2 cache was; the multiply-adds of two passes where the mask is Gaussian",
            f"L2 {limits['l2_bytes'] / 1e6:.0f} MB; warm: the same buffers again and again; cold: 256 MiB or "
            "more of pictures and results in turn",
        ]
    if state:
        clocks = f"clocks now {state['clocks.sm']} (memory {state['clocks.mem']})"
        heat = f"{state['temperature.gpu']} degrees, {state['power.draw']}"
        said.append(f"driver {state['driver_version']}, {clocks}, {heat}")
    device = limits.get("device") or state.get("name") or "unknown GPU"
    return {"device": device, "threads": 0, "facts": said, "state": state}
