import pytest
from cuda.core._utils.cuda_utils import CUDAError
from numba.cuda.cudadrv.driver import CudaAPIError
from numba.cuda.cudadrv.error import CudaSupportError

from engine.device.cuda_faults import cuda_errors_in_words
from engine.errors import BadValue, DeviceFault, DeviceUnavailable, EngineError, OutOfDeviceMemory


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (CudaAPIError(2, "CUDA_ERROR_OUT_OF_MEMORY"), OutOfDeviceMemory),
        (CudaAPIError(1, "CUDA_ERROR_INVALID_VALUE"), BadValue),
        (CudaAPIError(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), BadValue),
        (CudaAPIError(700, "CUDA_ERROR_ILLEGAL_ADDRESS"), DeviceFault),
        (CudaAPIError(702, "CUDA_ERROR_LAUNCH_TIMEOUT"), DeviceFault),
        (CudaAPIError(716, "CUDA_ERROR_MISALIGNED_ADDRESS"), DeviceFault),
        (CudaAPIError(719, "CUDA_ERROR_LAUNCH_FAILED"), DeviceFault),
        (CUDAError("CUDA_ERROR_INVALID_VALUE: This indicates ..."), BadValue),
        (CUDAError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: This indicates ..."), BadValue),
        (CUDAError("CUDA_ERROR_OUT_OF_MEMORY: The API call failed ..."), OutOfDeviceMemory),
        (CUDAError("CUDA_ERROR_ILLEGAL_ADDRESS: While executing ..."), DeviceFault),
        (CUDAError("something without a name"), DeviceFault),
        (CudaSupportError("no\n driver"), DeviceUnavailable),
    ],
)
def test_that_what_cuda_raises_becomes_words(error, becomes):
    with pytest.raises(EngineError) as caught, cuda_errors_in_words("doing this"):
        raise error
    assert type(caught.value) is becomes
    assert caught.value.__cause__ is error
    assert "doing this" in caught.value.what
    assert caught.value.why
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_that_what_does_not_come_from_cuda_is_not_touched():
    with pytest.raises(ZeroDivisionError), cuda_errors_in_words("doing this"):
        raise ZeroDivisionError
    refusal = BadValue("a", "b", "c")
    with pytest.raises(BadValue) as caught, cuda_errors_in_words("doing this"):
        raise refusal
    assert caught.value is refusal
