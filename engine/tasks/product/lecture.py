"""What the lecture on memories and performance computes about products of matrices. Pure functions.

Source: COSC 407, "CUDA Memories and Performance Revisited", slides "CGMA", "Problem!" and "Computing CGMA
when Tiling is used": a kernel that does CGMA operations per float from global memory is limited to CGMA times
the rate at which memory delivers floats. Caches are left out, so a real device may do better.
"""

LECTURE_DEVICE = "G80"
LECTURE_BANDWIDTH_GB_S = 86.4
# The slide prints 347.6 for a tile of 16, a misprint: 86.4 / 4 x 16 = 345.6.
PRINTED_GFLOPS_TILE_16 = 347.6
BYTES_PER_ACCESS = 4


def bandwidth_limited_gflops(cgma: float, bandwidth_gb_s: float) -> float:
    """Return the most that a bandwidth in GB/s allows, GFLOPS: bandwidth / 4 bytes x CGMA.

    Examples
    --------
    >>> round(bandwidth_limited_gflops(16.0, LECTURE_BANDWIDTH_GB_S), 1)
    345.6
    """
    return bandwidth_gb_s / BYTES_PER_ACCESS * cgma
