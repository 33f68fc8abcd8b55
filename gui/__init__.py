"""The window. It shows state and asks the engine's process for work; it never loads Numba and never computes a filter."""
