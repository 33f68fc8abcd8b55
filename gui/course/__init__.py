"""The page Course: papers, kernels, tables; page, state and controller."""
