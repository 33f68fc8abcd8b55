"""Devices: what there is, what it allows, memory and streams. `numba_cuda.py` alone imports Numba's CUDA."""
