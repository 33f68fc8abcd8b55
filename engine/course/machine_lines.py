"""The machine behind a paper's measured tables, in lines: CPU, GPU or why there is none, driver, versions, commit."""

import time

from engine.course.bench import cuda_device
from engine.device.devices import backend
from engine.errors import DeviceUnavailable


def machine_lines(device: str) -> tuple[tuple[str, str], ...]:
    """Return (name, value) of what decides how fast something is here.

    Parameters
    ----------
    device : str
        As `engine.course.measure.tables_of` takes it.
    """
    cpu = backend("cpu").environment()
    try:
        cuda = backend(cuda_device(device).key).environment()
        gpu = [("CUDA device", cuda.device), ("CUDA driver API", cuda.driver), ("Clocks", cuda.clocks)]
    except DeviceUnavailable as error:
        gpu = [("CUDA device", f"none: {error.why}")]
    versions = ", ".join(f"{name} {version}" for name, version in cpu.versions.items())
    lines = [
        ("CPU", cpu.device),
        *gpu,
        ("Versions", versions),
        ("Commit", cpu.commit),
        ("Made", time.strftime("%Y-%m-%d %H:%M %z")),
    ]
    return tuple((name, value) for name, value in lines if value)
