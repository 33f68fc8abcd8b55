"""Builders of LLVM IR for the multiply-add blocks that a compiler does not make by itself."""
