"""The theoretical limits of a GPU, from what its driver states and its maker's tables. No Numba."""

from engine.device_info import DeviceInfo

WARP_THREADS = 32
# Shared memory has 32 banks of 4 bytes, each of which serves one word per clock.
_SHARED_BYTES_PER_CLOCK = 128
# Per clock and multiprocessor, for compute capability 7.0 up to, not including, 10.0: CUDA C++ Programming
# Guide, "Arithmetic Instructions" (32-bit integer compare, bitwise operations, multiply-add).
_INTEGER_LANES, _INTEGERS_FROM, _INTEGERS_BELOW = 64, (7, 0), (10, 0)
# Warps that each multiprocessor issues an instruction of in a clock: the same, "Hardware Multithreading".
_SCHEDULERS, _MOST_SCHEDULERS = {(6, 0): 2}, 4
# Dense multiply-adds of tensor cores, (int8, float16), where the capability alone decides on them: other
# devices of one capability have float32 sums at full or at half speed. NVIDIA A100 and H100 Tensor Core GPU
# Architecture (white papers), peak rates divided by multiprocessors, clock and 2.
_TENSOR = {(8, 0): (2048, 1024), (9, 0): (4096, 2048)}


def theoretical_limits(gpu: DeviceInfo) -> dict[str, float]:
    """Return the known theoretical values by the names of `DeviceLimits`."""
    stated, capability = gpu.attributes, gpu.limits.compute_capability
    if stated is None or capability is None:
        return {}
    clocks = stated.multiprocessors * stated.clock_mhz * 1e6
    int8, float16 = _TENSOR.get(capability, (0, 0))
    found = {
        "copy_bytes_per_s": stated.bandwidth_gb_s * 1e9,
        "multiply_adds_per_s": stated.lanes * clocks,
        "shared_bytes_per_s": _SHARED_BYTES_PER_CLOCK * clocks,
        "instructions_per_s": _SCHEDULERS.get(capability, _MOST_SCHEDULERS) * clocks,
        "int8_tensor_multiply_adds_per_s": int8 * clocks,
        "float16_tensor_multiply_adds_per_s": float16 * clocks,
    }
    if _INTEGERS_FROM <= capability < _INTEGERS_BELOW:
        found["integer_operations_per_s"] = _INTEGER_LANES * clocks
        found["integer_multiply_adds_per_s"] = _INTEGER_LANES * clocks
    return {name: value for name, value in found.items() if value > 0}
