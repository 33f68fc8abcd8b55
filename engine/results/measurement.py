"""The result of a run: raw samples, proof, machine, versions and problem. No Numba in here.

A run that failed is a result too, with its reason in place of its times; it is never 0 and never missing.
"""

import dataclasses
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Generic

from msgspec import Meta, structs

from engine.device_info import SIMULATOR
from engine.errors import Reason
from engine.geometry.block import Block
from engine.results.occupancy import LaunchFacts
from engine.results.problem import P_co, TaskProblem, Work
from engine.results.text_forms import Shown, duration_text, ms_text, scaled_text
from engine.verify.closeness import Verification


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine and the versions behind a result; `bandwidth_gb_s` as in `DeviceInfo`."""

    device: str
    driver: str = ""
    clocks: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""
    bandwidth_gb_s: float | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """The least time for one thing that a run must do: no run of it on that device is faster."""

    key: str  # "instructions"
    title: str  # for people, in lower case: "instructions issued"
    ms: float
    amount: float  # how much of it all launches do
    unit: str  # of the amount: "instructions", each of a warp
    per_s: float  # how much of it the device does in a second at most
    counted_from: str  # what the amount is counted from, in words: "SASS of sm_90"

    def __add__(self, other: "Bound") -> "Bound":
        """Return the bound of two launches, one after the other, for the same thing."""
        return replace(self, ms=self.ms + other.ms, amount=self.amount + other.amount)

    @property
    def words(self) -> str:
        """The time, and what is behind it: how much is done, how fast that can be, what counts it."""
        amount, rate = scaled_text(self.amount), scaled_text(self.per_s)
        return f"{ms_text(self.ms)}: {amount} {self.unit} at {rate} per second ({self.counted_from})"


@dataclass(frozen=True, slots=True)
class ExplainedTime:
    """The bounds of a run beside its time, and what they say.

    The launches of a run follow one another: `least_ms` is the sum of the tallest bound of each.
    """

    device: str  # in words: whose limits these are
    bounds: tuple[Bound, ...] = ()  # of all launches together, the tallest first
    least_ms: float = 0.0
    measured_ms: float | None = None  # None where the run has no time
    sentence: str = ""  # the reason for the time, or why there is none to give
    remedy: str = ""  # key of the variant that removes the tallest limit; empty where none is known
    transactions_per_request: float | None = None  # 128-byte transactions per request to global memory
    saves: str = ""  # what the variant saves against another one, and at what price, in words
    # Why there are no bounds: no kernel of ours, or limits that were not measured.
    not_explained: Reason | None = None

    @property
    def words(self) -> str:
        """The reason for the time, or why there is none."""
        return self.sentence or str(self.not_explained or "")

    @property
    def share(self) -> float | None:
        """The part of the measured time that the bounds explain; None without one of them."""
        return self.least_ms / self.measured_ms if self.measured_ms and self.bounds else None


# What files have as it is; of all else (a border, the settings of an operation) they have its text.
_PLAIN = (bool, int, float, str, tuple, type(None))


@dataclass(frozen=True, slots=True)
class Spread:
    """Raw samples of one duration, in milliseconds, and their statistics."""

    samples_ms: Annotated[tuple[Annotated[float, Meta(ge=0.0, le=1e300)], ...], Meta(min_length=1)]

    @property
    def median_ms(self) -> float:
        """The middle sample, ms."""
        return self._quantile(0.5)

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

    @property
    def statistics(self) -> dict[str, float]:
        """All of these by name."""
        return {name: getattr(self, name) for name in ("median_ms", "p20_ms", "p80_ms", "minimum_ms")}

    def _quantile(self, fraction: float) -> float:
        ordered = sorted(self.samples_ms)
        position = fraction * (len(ordered) - 1)
        below = int(position)
        part = ordered[below : below + 2]
        return part[0] + (position - below) * (part[-1] - part[0])


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of one run, each under its own name, in milliseconds."""

    kernel: Spread  # the computation alone: device events on CUDA, the host's clock on the CPU
    # From the operands in the host's memory to the result there: copies and kernel, nothing compiled or
    # allocated.
    end_to_end: Spread
    # Once: making the code ready (near 0 if it was kept from an earlier run), and the device's buffers.
    compile_ms: float
    allocate_ms: float
    # The two copies; None on the CPU, which needs none.
    host_to_device: Spread | None = None
    device_to_host: Spread | None = None
    clock: str = "host clock"  # what measured `kernel`: "device events" or "host clock"
    # "warm": the same buffers again and again, so the picture may lie in the device's cache.
    cache: str = "warm"

    def as_json(self) -> dict[str, object]:
        """Return the durations as plain data for JSON: raw samples and statistics."""
        data = dataclasses.asdict(self)
        for name in data:
            if isinstance(spread := getattr(self, name), Spread):
                data[name] |= spread.statistics
        return data


@dataclass(frozen=True, slots=True)
class StepTime:
    """A step of a chain with what computes it; no time where none means anything (the simulator)."""

    id: str
    title: str
    variant: str
    ms: float | None = None


# Without slots: a generic class of frozen ones cannot be made by its alias with a parameter.
@dataclass(frozen=True, repr=False)
class Measurement(Shown, Generic[P_co]):
    """One variant on one problem of any task: its times and its proof, or why there are none."""

    variant: str  # key of the one that ran; never "auto"
    title: str
    device: str  # key: "cpu", "cuda:0", "simulator"
    problem: P_co
    block: Block | None  # None where the variant has none
    environment: Environment
    # None where the run failed, was not verified, or where times mean nothing (the simulator).
    timing: Timing | None = None
    verification: Verification | None = None  # None where nothing was computed
    failure: Reason | None = None  # why there is no result; files have it as text (`status`)
    refused: bool = False  # whether the failure is that this cannot be done, so that nothing was tried
    chosen_because: str = ""  # the planner's reason where `auto` was chosen
    seed: int = 0  # of the pixels that were verified, and of random operands
    layout: str = ""  # of the rows on a CUDA device: "pitched" or "packed"; empty on the CPU
    work: Work | None = None  # the model of work; None where it is not known
    # The launches of the kernels; None on the CPU, of a library, and in older files.
    launches: tuple[LaunchFacts, ...] | None = None
    # Runs with other weights, of a mask or a network, are not compared. No digest in files of version 1.
    mask_name: str = ""
    weights_digest: str | None = None
    explained: ExplainedTime | None = None  # the reason for the time; None if not requested
    steps: tuple[StepTime, ...] = ()  # of a chain that was measured: each by itself

    @property
    def task(self) -> str:
        """Key of the task."""
        return self.problem.task

    @property
    def is_proven(self) -> bool:
        """Whether it was computed and agrees with the oracle."""
        return not self.failure and self.verification is not None and self.verification.passed

    @property
    def is_refuted(self) -> bool:
        """Whether it failed, or was computed and disagrees with the oracle."""
        return self.failure is not None or (self.verification is not None and not self.verification.passed)

    @cached_property
    def kernel_ms(self) -> float | None:
        """Median kernel time, ms; None for a run that failed, is not verified, or was simulated."""
        # Of 200 runs tables, plots and comparisons ask 4000 times for each one that comes.
        if self.timing is None or not self.is_proven or self.device == SIMULATOR:
            return None
        return self.timing.kernel.median_ms

    @property
    def status(self) -> str:
        """Verified, or why not, in words."""
        if self.failure:
            return str(self.failure)
        return self.verification.sentence(self.problem.checked_unit) if self.verification else "not run yet"

    @property
    def short_status(self) -> str:
        """The status in a few words."""
        return self.failure.short if self.failure else self.status

    @property
    def proof(self) -> str:
        """The proof in a word or two, or in one why there is none."""
        if self.verification is None or not self.is_proven:
            return "failed" if self.no_speed == "not verified" else self.no_speed
        words = "verified, exact" if self.verification.exact else "verified"
        return f"{words}, {self.no_speed}" if self.no_speed else words

    @property
    def no_speed(self) -> str:
        """Why it has no speed, in a word or two; empty if it has one."""
        if self.kernel_ms is not None:
            return ""
        if self.failure:
            return "unavailable" if self.refused else "failed"
        if self.verification is None:
            return "not run yet"
        if not self.verification.passed:
            return "not verified"
        return "simulated" if self.device == SIMULATOR else "not timed"

    @property
    def steps_text(self) -> str:
        """What each step of a chain took, in words; empty where there are no such times."""
        timed = [(f"{one.id} ({one.title})", one.ms) for one in self.steps if one.ms is not None]
        return ", ".join(f"{name} {duration_text(ms)}" for name, ms in timed)

    @property
    def summary(self) -> dict[str, str]:
        """What it ran as, whether it is right and how fast, in words; only what is known.

        A single run has no speed-up: that is against another one.
        """
        texts = {
            "Variant": self.variant,
            "Block": "" if self.block is None else str(self.block),
            "Device": self.device,
            "Verification": self.status,
        }
        if self.timing is not None and self.kernel_ms is not None:
            texts["Kernel"] = ms_text(self.kernel_ms)
            texts["End to end"] = ms_text(self.timing.end_to_end.median_ms)
        texts["Reason"] = self.chosen_because
        return {name: text for name, text in texts.items() if text}

    def _shown(self) -> list[tuple[str, str]]:
        return list(self.summary.items())

    def as_json(self) -> dict[str, object]:
        """Return plain data for JSON: raw samples, medians, proof, machine, versions, problem."""
        data = {"task": self.task} | dataclasses.asdict(self)
        values = {name: getattr(self.problem, name) for name in self.problem.__struct_fields__}
        data["problem"] = {
            name: value if type(value) in _PLAIN else str(value) for name, value in values.items()
        }
        if self.timing is not None:
            data["timing"] = self.timing.as_json()
        if self.work is not None:
            ratios = {"cgma": self.work.cgma, "arithmetic_intensity": self.work.arithmetic_intensity}
            data["work"] = structs.asdict(self.work) | ratios
        data["failure"] = str(self.failure or "")
        data["reason"] = self.failure and self.failure.as_json()
        data["status"] = self.status
        return data


AnyResult = Measurement[TaskProblem]
"""The result of a run of whatever task; what reads more of its problem takes that task's own."""
