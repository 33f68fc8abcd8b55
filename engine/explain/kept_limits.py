"""Limits that were measured before, here or on a recorded machine: read in a millisecond. No Numba.

And the request to measure them again.
"""

import json
from importlib import import_module

import msgspec

from engine.compiled.code_store import code_store
from engine.compiled.machine_code import cpu_target
from engine.device.device_list import cpu_info, listed_devices
from engine.device.devices import backend
from engine.device_info import RECORDED, SIMULATOR, DeviceInfo
from engine.errors import DeviceUnavailable
from engine.explain.device_limits import DeviceLimits, KeptLimits, MeasureLimits
from engine.files.reading import faults_of_asset
from engine.results.columns import RUNS, recorded_document, recorded_path
from engine.results.problem import Checkpoint, Progress

_KIND = "limits"


def kept_limits(device: DeviceInfo) -> DeviceLimits | None:
    """Return the limits of a device of this machine; None where they have not been measured."""
    kept = code_store().load(_KIND, _key(device))
    return None if kept is None else msgspec.json.decode(kept, type=DeviceLimits)


def keep(device: DeviceInfo, limits: DeviceLimits) -> None:
    """Keep the limits of a device for later processes."""
    code_store().save(_KIND, _key(device), msgspec.json.encode(limits))


def answer(request: KeptLimits, report: Checkpoint) -> DeviceLimits | None:
    """Return kept limits. Called on: the host's pipe."""
    if request.device == RECORDED:
        return recorded_limits()
    for device in listed_devices():
        if device.key == request.device:
            return kept_limits(device)
    raise DeviceUnavailable(f"device '{request.device}'", "there is no such device here")


def measure(request: MeasureLimits, report: Checkpoint) -> DeviceLimits:
    """Measure the limits of a device and keep them. Called on: the host's main thread."""
    if request.device == SIMULATOR:
        raise DeviceUnavailable("The limits of the simulator", "its times mean nothing")
    limits: DeviceLimits
    # Only the code that measures this kind of device is loaded.
    if request.device == "cpu":
        info, limits = cpu_info(), import_module("engine.explain.measured_cpu").cpu_limits(report)
    else:
        # The first use of a GPU loads Numba's CUDA target.
        report(Progress("starting the device", 0.0, 5.0))
        machine = backend(request.device)
        info = machine.info
        limits = import_module("engine.explain.gpu_limits_code").gpu_limits(machine, report)
    keep(info, limits)
    return limits


def recorded_limits() -> DeviceLimits | None:
    """Return the limits of the GPU whose runs came with the program; None where none did."""
    if not (document := recorded_document(RUNS)):
        return None
    with faults_of_asset(recorded_path(RUNS), "The recording"):
        return msgspec.convert(document["limits"], DeviceLimits)


def _key(device: DeviceInfo) -> str:
    cpu = cpu_target()
    facts = device.title, *device.facts.values(), *cpu_info().facts.values(), cpu.name, cpu.features
    return json.dumps(facts, allow_nan=False)
