"""What the CPU's kernels of `cpu_rates_code` do in a round of their loops. No Numba in here."""

from engine.compiled.cpu_target import architecture, cpu_target

# A processor begins two to four vector multiply-adds per clock, and each takes four or five clocks. Of the 16
# registers of AVX two have the operands.
CHAINS = 16 if cpu_target().vector_floats == 16 or cpu_target().has("neon") else 12
STEPS = 4
COPIED_VECTORS = 4

# Vectors that are loaded or stored in a round; rounds go through as much as the first cache holds.
CACHED_VECTORS = 8
CACHED_FLOATS = 2048

HAS_MIXES = architecture() == "x86_64" and cpu_target().has("fma")
"""Whether there are mixes of instructions: their rates are those of the processor's own, of x86-64."""

# The first mix is issued as fast as any: instructions that do not wait for one another and use different
# units: whole numbers, a float, a load, and comparisons with branches that are not taken, which count as one.
# None of it is a move, which some processors do not execute. The others are vector operations: which of them
# a processor does beside multiply-adds depends on its units.
_COMPARISON = "testq %r8, %r8\njc 1f\n1:"
_VECTOR = {16: "zmm", 8: "ymm", 4: "xmm"}[cpu_target().vector_floats]
OPERAND = f"{_VECTOR}0"
"""The register that all operations of the mixes read; they add to, or set, the others."""


def _vector_mix(other: str, count: int) -> tuple[str, ...]:
    """Return a multiply-add in registers 1 to 8 each, and so many of another operation in 9 to 15."""
    sums = [f"vfmadd231ps %{_VECTOR}0, %{_VECTOR}0, %{_VECTOR}{number}" for number in range(1, 9)]
    others = [f"{other} %{_VECTOR}0, %{_VECTOR}0, %{_VECTOR}{9 + number % 7}" for number in range(count)]
    return (*sums, *others)


MIXES: tuple[tuple[str, ...], ...] = (
    (
        _COMPARISON, "addq $$1, %rax", "vaddps %xmm0, %xmm0, %xmm1",
        _COMPARISON, "addq $$1, %rcx", "movq ($0), %rdx",
    ),
    _vector_mix("vaddps", 8),
    _vector_mix("vpaddd", 8),
    _vector_mix("vpaddd", 12),
)  # fmt: skip
if not HAS_MIXES:
    MIXES = ((),) * len(MIXES)
# At least: the branch of a round takes a clock of its own.
MIXED_INSTRUCTIONS = 384
CHANGED = ",".join(["~{rax},~{rcx},~{rdx},~{cc},~{memory}", *(f"~{{xmm{n}}}" for n in range(1, 16))])
