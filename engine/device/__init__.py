"""Devices: what there is, what it allows, its memory and its streams.

`numba_cuda.py` is the one import of Numba's CUDA target in the program.
"""
