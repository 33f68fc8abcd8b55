"""The processor that CPU code is compiled for: its name, its features, its vectors. No Numba in here.

`NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` choose another one than this machine's, as Numba reads them: code
for AVX2 is compiled, tested and measured on a machine with AVX-512 so.
"""

import os
from functools import cache
from typing import NamedTuple

import llvmlite.binding as llvm


class CpuTarget(NamedTuple):
    """A processor, as LLVM knows it; `features` are those of LLVM, such as "+avx2,+fma"."""

    name: str
    features: str

    def has(self, feature: str) -> bool:
        """Return whether the processor has a feature."""
        return f"+{feature}" in self.features.split(",")

    @property
    def vector_floats(self) -> int:
        """The floats of its widest vector: 16 (AVX-512), 8 (AVX), else 4."""
        if self.has("avx512f"):
            return 16
        return 8 if self.has("avx") else 4


@cache
def cpu_target() -> CpuTarget:
    """Return the processor that this process compiles for."""
    name = os.environ.get("NUMBA_CPU_NAME")
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if str(name).lower() == "generic" else llvm.get_host_cpu_features().flatten()
    return CpuTarget(name or llvm.get_host_cpu_name(), features)
