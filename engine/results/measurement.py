"""What a run leaves behind: raw samples, proof, and everything needed to believe them later. No Numba in here.

A run that failed is a result too, with its reason in place of its times; it is never 0 and never missing.
"""

import dataclasses
import statistics
from dataclasses import dataclass
from typing import Any

from engine.device_info import Environment
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.tasks.filtering.problem import Problem
from engine.tasks.work import Work
from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True)
class Spread:
    """Raw samples of one duration, in milliseconds, and what can honestly be said of them."""

    samples_ms: tuple[float, ...]

    @property
    def median_ms(self) -> float:
        """The middle sample, ms."""
        return statistics.median(self.samples_ms)

    @property
    def minimum_ms(self) -> float:
        """The fastest sample, ms."""
        return min(self.samples_ms)

    @property
    def p20_ms(self) -> float:
        """A fifth of the samples are below this, ms."""
        return self._quantile(0.2)

    @property
    def p80_ms(self) -> float:
        """A fifth of the samples are above this, ms."""
        return self._quantile(0.8)

    def _quantile(self, fraction: float) -> float:
        ordered = sorted(self.samples_ms)
        position = fraction * (len(ordered) - 1)
        below = int(position)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (position - below) * (ordered[above] - ordered[below])


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of one run, each under its own name, in milliseconds.

    Parameters
    ----------
    kernel : Spread
        The filtering alone: device events on CUDA, the host's clock on the CPU.
    end_to_end : Spread
        From the picture in the host's memory to the result there: copies and kernel, nothing compiled or allocated.
    compile_ms, allocate_ms : float
        Paid once: making the code ready (near 0 if it was kept from an earlier run), and the device's buffers.
    host_to_device, device_to_host : Spread, optional
        The two copies; None on the CPU, which needs none.
    clock : str
        What measured `kernel`: "device events" or "host clock".
    cache : str
        "warm": the same buffers again and again, so the picture may lie in the device's cache.
    """

    kernel: Spread
    end_to_end: Spread
    compile_ms: float
    allocate_ms: float
    host_to_device: Spread | None = None
    device_to_host: Spread | None = None
    clock: str = "host clock"
    cache: str = "warm"

    def as_json(self) -> dict[str, Any]:
        """Return the durations as plain data for JSON: raw samples, and what can honestly be said of them."""
        data = dataclasses.asdict(self)
        for name in ("kernel", "end_to_end", "host_to_device", "device_to_host"):
            spread = getattr(self, name)
            if spread is not None:
                data[name] |= {
                    "median_ms": spread.median_ms,
                    "p20_ms": spread.p20_ms,
                    "p80_ms": spread.p80_ms,
                    "minimum_ms": spread.minimum_ms,
                }
        return data


@dataclass(frozen=True, slots=True)
class RunResult:
    """One variant on one problem: its times and its proof, or why there are none.

    Parameters
    ----------
    variant, title : str
        Key and name of the variant that ran; never "auto".
    chosen_because : str
        The planner's reason where `auto` was asked for.
    device : str
        Key of the device: "cpu", "cuda:0", "simulator".
    problem : Problem
    mask_name : str
    block : Block, optional
        None where the variant has no block.
    timing : Timing, optional
        None where the run failed, was not verified, or where times mean nothing (the simulator).
    verification : Verification, optional
    failure : str
        What, why and what to do, in one line; empty if the run succeeded.
    seed : int
        Of the rectangles that were verified.
    layout : str
        Of the rows on a CUDA device: "pitched" or "packed"; empty on the CPU.
    work : Work, optional
        The model of what the variant asks of the machine; None where the run failed.
    refused : bool
        Whether the failure is that this cannot be done (the variant with that mask, that block, that device), so that
        nothing was tried.
    """

    variant: str
    title: str
    device: str
    problem: Problem
    mask_name: str
    block: Block | None
    environment: Environment
    timing: Timing | None = None
    verification: Verification | None = None
    failure: str = ""
    chosen_because: str = ""
    seed: int = 0
    layout: str = ""
    work: Work | None = None
    refused: bool = False

    @property
    def kernel_ms(self) -> float | None:
        """Median kernel time, ms, of a verified run; None otherwise: what is not verified has no speed."""
        if self.timing is None or self.verification is None or not self.verification.passed:
            return None
        return self.timing.kernel.median_ms

    @property
    def status(self) -> str:
        """Verified, or why not, in words."""
        if self.failure:
            return self.failure
        return self.verification.sentence if self.verification else "not verified"

    def as_json(self) -> dict[str, Any]:
        """Return the result as plain data for JSON: raw samples, medians, proof, machine, versions, problem."""
        data = dataclasses.asdict(self)
        data["problem"]["border"] = str(self.problem.border)
        if self.timing is not None:
            data["timing"] = self.timing.as_json()
        if self.work is not None:
            data["work"] |= {
                "cgma": self.work.cgma,
                "arithmetic_intensity": self.work.arithmetic_intensity,
            }
        data["status"] = self.status
        return data


def speed_up(baseline: RunResult | None, result: RunResult) -> float | None:
    """Return how many times faster a result's kernel is than the baseline's.

    None where either has no speed, or where their rows lie differently on the device: that would be two differences
    in one number.
    """
    if baseline is None or not baseline.kernel_ms or not result.kernel_ms:
        return None
    if result.layout not in layouts_served(baseline):
        return None
    return baseline.kernel_ms / result.kernel_ms


def layouts_served(baseline: RunResult) -> tuple[str, ...]:
    """Return the layouts of results that a baseline may be compared with: on the CPU there is only one, so all."""
    return ("", baseline.layout) if baseline.layout else ("", *Layout)
