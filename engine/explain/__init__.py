"""The reason for the time: what a launch, its memory accesses and its code cost, without a profiler."""
