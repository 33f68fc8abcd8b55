"""What emitted code shares: LLVM IR for vectors, memory, warps and results that Numba does not make."""
