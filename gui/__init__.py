"""The window: shows state and asks the engine's process for work; never loads Numba."""
