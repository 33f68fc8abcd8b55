"""What the CPU's kernels of `cpu_rates_code` do in a round of their loops. No Numba in here."""

import platform

from engine.compiled.cpu_target import cpu_target

# A processor begins two to four vector multiply-adds per clock, and each takes four or five clocks. Of the 16
# registers of AVX two have the operands.
CHAINS = 16 if cpu_target().vector_floats == 16 or cpu_target().has("neon") else 12
STEPS = 4
COPIED_VECTORS = 4

# Between multiply-adds, of which as many are under way as a processor takes, additions and exclusive ors of
# whole numbers, each of which takes a clock: twice in each of four registers.
FLOAT_CHAINS, INTEGER_CHAINS, INTEGER_STEPS = 8, 4, 2

# Vectors that are loaded or stored in a round; rounds go through as much as the first cache holds.
CACHED_VECTORS = 8
CACHED_FLOATS = 2048

# x86-64: six instructions that do not wait for one another and use different units, as a mix that a processor
# issues as fast as any: whole numbers, a float, a load, and comparisons with branches that are not taken, which
# count as one. None of it is a move, which some do not execute.
_COMPARISON = "testq %r8, %r8\njc 1f\n1:"
INSTRUCTIONS = (
    _COMPARISON, "addq $$1, %rax", "vaddps %xmm0, %xmm0, %xmm1",
    _COMPARISON, "addq $$1, %rcx", "movq ($0), %rdx",
)  # fmt: skip
# The branch of a round takes a clock of its own.
INSTRUCTION_STEPS = 64
CHANGED = "~{rax},~{rcx},~{rdx},~{xmm1},~{cc},~{memory}"
COUNTS_INSTRUCTIONS = platform.machine() in ("x86_64", "AMD64") and cpu_target().has("avx")
"""Whether the rate at which instructions are issued is measured."""
