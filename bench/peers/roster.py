"""Which libraries take part, on which device, and whose Python runs them."""

from dataclasses import dataclass

OURS = "haloscope"
LIMIT = "limit"
AUTO = "auto"


@dataclass(frozen=True)
class Entry:
    """A library of the benchmark."""

    key: str  # Name in files: "opencv"; ours is "haloscope", what measures the limits "limit"
    title: str  # Name for people
    module: str

    @property
    def is_peer(self) -> bool:
        """Whether it is neither ours nor a limit: it may have a Python of its own."""
        return self.key not in (OURS, LIMIT)


def _entry(key: str, title: str, file: str) -> Entry:
    return Entry(key, title, f"bench.peers.libraries.{file}")


ROSTERS: dict[str, tuple[Entry, ...]] = {
    "gpu": (
        _entry(LIMIT, "limit", "device_limits"),
        _entry(OURS, "Haloscope", "haloscope_cuda"),
        _entry("torch", "torch (cuDNN)", "torch_cuda"),
        _entry("cupy", "CuPy", "cupy_ndimage"),
        _entry("npp", "NPP", "npp"),
    ),
    "cpu": (
        _entry(LIMIT, "limit", "host_copy"),
        _entry(OURS, "Haloscope", "haloscope_cpu"),
        _entry("opencv", "OpenCV", "opencv"),
        _entry("torch", "torch", "torch_cpu"),
        _entry("scipy", "SciPy", "scipy_ndimage"),
        _entry("scikit-image", "scikit-image", "scikit_image"),
        _entry("pillow", "Pillow", "pillow_kernel"),
    ),
}


def name_of(key: str, method: str) -> str:
    """Return the name of a contender, a library's way to filter: "opencv filter2D"."""
    return f"{key} {method}"


OURS_AUTO = name_of(OURS, AUTO)
COPY = name_of(LIMIT, "copy")
