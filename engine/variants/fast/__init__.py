"""The variants made for speed: many results per thread, rows and columns in one kernel, tensor cores, FFT."""
