"""Products of matrices, C = A B in float32: the second lecture's subject. What it computes, and the proof of results.

The kernels are in `engine.variants.matmul`. `engine.matmul` is the Python call.
"""
