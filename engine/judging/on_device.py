"""A judged kernel on a GPU, where there is one: the result of its largest launch, and the time of that."""

import ctypes
from typing import Any

import numpy as np

from engine.device.cuda_memory import check
from engine.device.devices import backend, devices
from engine.device.numba_cuda import cuda, driver
from engine.judging.judge import Outcome
from engine.judging.judgement import JudgedKernel
from engine.ptx import Array, Finding

# Launches that are timed, after one that warms up; the median is told.
TIMED = 9


def on_device(kernel: JudgedKernel, outcome: Outcome) -> tuple[str, Finding | None]:
    """Launch a kernel as an outcome's trial did, on the first GPU that can be used.

    Return what to say, nothing without a GPU, and what differs from the interpreter. A kernel that the
    interpreter found at fault is not launched: a wrong access ends the process for CUDA.
    """
    gpu = next((one for one in devices() if one.is_usable_gpu), None)
    if gpu is None:
        return "", None
    if outcome.run.findings:
        return f"Not run on {gpu.title}: a kernel with a fault could end the process.", None
    with backend(gpu.key).selected():
        module = check(driver.cuModuleLoadData(kernel.ptx.encode() + b"\0"))
        machine = outcome.run.machine
        function = check(driver.cuModuleGetFunction(module, machine.kernel.name.encode()))
        if kernel.header.shared > 48 * 1024:
            limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(driver.cuFuncSetAttribute(function, limit, kernel.header.shared))
        arrays = {one.name: cuda.to_device(one.values) for one in outcome.arguments if isinstance(one, Array)}
        values: list[Any] = []
        for variable, argument in zip(machine.kernel.parameters, outcome.arguments, strict=True):
            if isinstance(argument, Array):
                values.append(ctypes.c_uint64(arrays[argument.name].device_ctypes_pointer.value))
            else:
                data = np.array(argument).astype(variable.dtype).tobytes()
                values.append((ctypes.c_ubyte * len(data)).from_buffer_copy(data))
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        shape = (*machine.grid, *machine.block, kernel.header.shared, 0, ctypes.addressof(pointers), 0)
        times = []
        for _ in range(TIMED + 1):
            begin, end = cuda.event(timing=True), cuda.event(timing=True)
            begin.record()
            check(driver.cuLaunchKernel(function, *shape))
            end.record()
            end.synchronize()
            times.append(float(begin.elapsed_time(end)))
        found = arrays["out"].copy_to_host()
        check(driver.cuModuleUnload(module))
    text = f"On {gpu.title}: {np.median(times[1:]) * 1e3:.1f} µs with the launch, {outcome.trial}."
    interpreted = outcome.out.values.reshape(found.shape)
    if np.array_equal(found.view(np.uint8), interpreted.view(np.uint8)):
        return f"{text} The same bits as interpreted.", None
    with np.errstate(invalid="ignore"):
        difference = float(np.nanmax(np.abs(found.astype(np.float64) - interpreted)))
    scale = float(np.nanmax(np.abs(outcome.wanted)))
    if difference <= 1e-4 * scale:
        # Products and sums that PTX leaves free are contracted by the assembler.
        return f"{text} It differs from the interpreted result by {difference:.3g} at most.", None
    message = f"the result on {gpu.title} differs from the interpreted one by up to {difference:.6g}"
    return text, Finding("wrong", (), message)
