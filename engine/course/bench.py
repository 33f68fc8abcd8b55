"""Does the runs of a paper's tables on this machine: verified first, then timed; a failure is a reason.

Called on: the main thread of the engine's process, or of a script.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine.course.copy_variant import COPY
from engine.course.runs import BankRun, BusRun, FilterRun, Measured, ProductRun, Run, TimerRun
from engine.device.cuda import memory_bus
from engine.device.devices import backend, device_named
from engine.device.launches import DeviceKind
from engine.device_info import DeviceInfo
from engine.errors import Cancelled, DeviceFault, DeviceUnavailable, EngineError
from engine.geometry.border import Border
from engine.mask.bank import Bank
from engine.mask.generators import gaussian
from engine.results.measurement import RunResult
from engine.results.metrics import number_of
from engine.run.filtering import bank_job, filter_job
from engine.run.measure import measure
from engine.run.plan import SamplingPlan
from engine.run.product import product_job
from engine.run.resolve import describe_problem
from engine.run.sampling import Checkpoint, Step
from engine.tasks.filtering.problem import Problem
from engine.tasks.product.operands import random_matrices
from engine.tasks.product.problem import MatrixProduct
from engine.variants.auto.planner import Choice
from engine.variants.contract import Variant
from engine.variants.registry import matmul_variant, variant

SEED = 0
HOST_SAMPLES = 20
NO_SPEED = "The simulator's times mean nothing."


def cuda_device(wanted: str) -> DeviceInfo:
    """Return the CUDA device that `wanted` means.

    Parameters
    ----------
    wanted : str
        "auto": the first CUDA device; else the key of a device.

    Raises
    ------
    DeviceUnavailable
        There is none, or the CPU was chosen; `why` is the reason in words.
    """
    what = "This needs a CUDA device"
    try:
        found = device_named("cuda" if wanted == "auto" else wanted)
    except DeviceUnavailable as error:
        raise DeviceUnavailable(what, error.why) from error
    if found.kind != "cuda":
        raise DeviceUnavailable(what, f"the device chosen is the {found.title}")
    return found


@dataclass
class Bench:
    """The machine that does the runs of a paper.

    Parameters
    ----------
    device : str
        For the CUDA variants: "auto" or the key of a device.
    plan : SamplingPlan
    """

    device: str
    plan: SamplingPlan
    _pictures: dict[tuple[int, int], np.ndarray] = field(default_factory=dict, repr=False)

    def take(self, run: Run, checkpoint: Checkpoint = lambda step: None) -> Measured:
        """Do a run.

        Parameters
        ----------
        run : Run
        checkpoint : callable of Step
            Called before each step; may raise to stop.

        Raises
        ------
        DeviceFault
            The process is lost for CUDA.
        """
        try:
            if isinstance(run, FilterRun):
                return self._filter(run, checkpoint)
            if isinstance(run, BankRun):
                return self._filter_by_bank(run, checkpoint)
            if isinstance(run, TimerRun):
                return self._time_twice(run, checkpoint)
            if isinstance(run, BusRun):
                return self._ask_bus()
            return self._multiply(run, checkpoint)
        except (Cancelled, DeviceFault):
            raise
        except EngineError as error:
            return Measured(reason=str(error))
        except MemoryError:
            self._pictures.clear()
            return Measured(reason="Not enough memory: the system gave no more.")

    def _device_of(self, chosen: Variant) -> DeviceInfo:
        return device_named("cpu") if chosen.device is DeviceKind.CPU else cuda_device(self.device)

    def _picture(self, height: int, width: int) -> np.ndarray:
        """Return a random picture, kept until another size is asked for."""
        if (height, width) not in self._pictures:
            self._pictures.clear()
            random = np.random.default_rng(SEED)
            self._pictures[height, width] = random.random((height, width, 1), np.float32)
        return self._pictures[height, width]

    def _filter(self, run: FilterRun, checkpoint: Checkpoint) -> Measured:
        chosen = _variant(run.variant)
        device = self._device_of(chosen)
        samples = self._picture(run.height, run.width)
        choice = Choice(chosen, run.block or chosen.default_block)
        problem = _problem(run, samples)
        job = filter_job(choice, problem, run.mask, samples, layout=run.layout, seed=SEED)
        return measured_of(measure(job, backend(device.key), self.plan, checkpoint=checkpoint).result)

    def _filter_by_bank(self, run: BankRun, checkpoint: Checkpoint) -> Measured:
        device = cuda_device(self.device)
        bank = Bank(tuple(gaussian(run.mask_side, sigma=1.0 + number) for number in range(run.masks)))
        samples = self._picture(run.side, run.side)
        problem = describe_problem(samples, bank.masks[0], Border.ZERO, 0.0)
        job = bank_job(bank, problem, samples, seed=SEED)
        return measured_of(measure(job, backend(device.key), self.plan, checkpoint=checkpoint).result)

    def _time_twice(self, run: TimerRun, checkpoint: Checkpoint) -> Measured:
        by_device = self._filter(run.filtering, checkpoint)
        if by_device.reason:
            return by_device
        checkpoint(Step("timing by the host's clock", 0.9, run.expected_s))
        host_ms = self._host_ms(run.filtering)
        return Measured({"kernel_ms": by_device.values["kernel_ms"], "host_ms": host_ms})

    def _host_ms(self, run: FilterRun) -> float:
        """Return the median time of launch and wait by the host's clock, ms; the run was verified before."""
        chosen = _variant(run.variant)
        samples = self._picture(run.height, run.width)
        machine = backend(self._device_of(chosen).key)
        machine.activate()
        prepared = chosen.prepare(_problem(run, samples), run.mask, run.block or chosen.default_block)
        buffers = machine.allocate(samples, layout=run.layout)
        machine.upload(samples, buffers)
        return median_ms(lambda: machine.run(prepared, buffers), HOST_SAMPLES)

    def _ask_bus(self) -> Measured:
        bus = memory_bus(cuda_device(self.device))
        return Measured(
            {
                "memory_clock_mhz": bus.clock_mhz,
                "bus_width_bits": bus.width_bits,
                "bytes_per_second": bus.bytes_per_second,
            }
        )

    def _multiply(self, run: ProductRun, checkpoint: Checkpoint) -> Measured:
        device = cuda_device(self.device)
        a, b = random_matrices(MatrixProduct(run.side, run.side, run.side), SEED)
        chosen = matmul_variant(run.variant)
        job = product_job(chosen, run.tile, a, b, seed=SEED)
        result = measure(job, backend(device.key), self.plan, checkpoint=checkpoint).result
        rate = number_of(result, "gflops")
        if result.kernel_ms is None or rate is None:
            wrong = result.verification is not None and not result.verification.passed
            reason = result.status if result.failure or wrong else NO_SPEED
            return Measured(reason=reason, not_verified=wrong)
        return Measured({"kernel_ms": result.kernel_ms, "gflops": rate})


def _variant(key: str) -> Variant:
    return COPY if key == COPY.key else variant(key)


def _problem(run: FilterRun, samples: np.ndarray) -> Problem:
    return describe_problem(samples, run.mask, run.border, run.cval)


def median_ms(action: Callable[[], object], samples: int) -> float:
    """Return the median time of an action by the host's clock, ms, after one that does not count."""
    action()
    times_ms = []
    for _ in range(samples):
        begin = time.perf_counter()
        action()
        times_ms.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times_ms)


def measured_of(result: RunResult) -> Measured:
    """Return the values of a run's result, or why it has none."""
    if result.failure:
        return Measured(reason=result.failure)
    if result.verification is not None and not result.verification.passed:
        return Measured(reason=result.status, not_verified=True)
    if result.timing is None or result.kernel_ms is None:
        return Measured(reason=NO_SPEED)
    values = {"kernel_ms": result.kernel_ms}
    copies = (result.timing.host_to_device, result.timing.device_to_host)
    if copies[0] is not None and copies[1] is not None:
        values["overhead_ms"] = result.timing.allocate_ms + copies[0].median_ms + copies[1].median_ms
    return Measured(values)
