"""The Python calls: `engine.correlate`, `apply`, `apply_bank`, `matmul`."""
