"""What the CPU's kernels of `cpu_rates_code` do in a round of their loops. No Numba in here."""

from engine.compiled.cpu_target import cpu_target

# A processor begins two to four vector multiply-adds per clock, and each takes four or five clocks. Of the 16
# registers of AVX two have the operands.
CHAINS = 16 if cpu_target().vector_floats == 16 or cpu_target().has("neon") else 12
STEPS = 4
COPIED_VECTORS = 4
