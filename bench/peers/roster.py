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
    file: str  # In `libraries`

    @property
    def is_peer(self) -> bool:
        """Whether it is neither ours nor a limit: it may run in another Python."""
        return self.key not in (OURS, LIMIT)


ROSTERS = {
    "gpu": (
        Entry(LIMIT, "limit", "device_limits"),
        Entry(OURS, "Haloscope", "haloscope_cuda"),
        Entry("torch", "torch (cuDNN)", "torch_cuda"),
        Entry("cupy", "CuPy", "cupy_ndimage"),
        Entry("npp", "NPP", "npp"),
    ),
    "cpu": (
        Entry(LIMIT, "limit", "host_copy"),
        Entry(OURS, "Haloscope", "haloscope_cpu"),
        Entry("opencv", "OpenCV", "opencv"),
        Entry("torch", "torch", "torch_cpu"),
        Entry("scipy", "SciPy", "scipy_ndimage"),
        Entry("scikit-image", "scikit-image", "scikit_image"),
        Entry("pillow", "Pillow", "pillow_kernel"),
    ),
}


def name_of(key: str, method: str) -> str:
    """Return the name of a contender, a library's way to filter: "opencv filter2D"."""
    return f"{key} {method}"


OURS_AUTO = name_of(OURS, AUTO)
COPY = name_of(LIMIT, "copy")
