"""Simulated kernels may use no negative index: NumPy counts it from the end, a device reads elsewhere."""

from numba.cuda.simulator.cudadrv.devicearray import FakeWithinKernelCUDAArray


def refuse_negative_indices():
    """Let arrays of simulated kernels in global memory raise IndexError for a negative index."""
    for name in ("__getitem__", "__setitem__"):
        setattr(FakeWithinKernelCUDAArray, name, _checked(getattr(FakeWithinKernelCUDAArray, name)))


def _checked(access):
    def checked(array, index, *value):
        for number in index if isinstance(index, tuple) else (index,):
            if not isinstance(number, slice) and number < 0:
                raise IndexError(f"negative index {index}")
        return access(array, index, *value)

    return checked
