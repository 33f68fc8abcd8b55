"""Machine code of the CPU and the GPU: compiled once, kept on disk, loaded without a compiler."""
