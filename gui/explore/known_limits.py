"""The limits of devices as far as they are known: read from the disk, or measured when somebody asks."""

from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal

from engine.device_info import RECORDED
from engine.explain.limits.device_limits import DeviceLimits
from engine.explain.limits.messages import KeptLimits, MeasureLimits
from engine.results.columns import server_of
from engine.results.measurement import Measurement
from gui.engine_link.engine_link import Ask, EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.jobs import Job, JobQueue
from gui.page.messages import PageMessages

_SOURCE = "limits"
MEASURE = "Measure the limits (2 s)"
"""The words of a button, and its tip."""
MEASURE_TIP = "Runs on this device for 2 s what shows its limits; they are kept for the next time."


class KnownLimits(QObject):
    """The limits of each device that was looked at."""

    changed = Signal()  # the limits of a device are known now, or known to be missing
    measured = Signal(str)  # those of the device with this key were measured

    def __init__(self, state: EngineState, link: EngineLink, jobs: JobQueue, messages: PageMessages) -> None:
        super().__init__()
        self._state, self._link, self._jobs, self._messages = state, link, jobs, messages
        self._found: dict[str, DeviceLimits | None] = {}
        self._asked: set[str] = set()
        state.machine_changed.connect(self._forget)

    def of(self, device: str) -> DeviceLimits | None:
        """Return the limits of a device; None where they are not known, or not yet."""
        return self._found.get(device)

    def is_missing(self, device: str) -> bool:
        """Whether the limits of a device were not measured."""
        return device in self._found and self._found[device] is None

    def are_of(self, result: Measurement[Any]) -> bool:
        """Whether the limits of its device are about a run: a recording has those of its GPU, not its CPU."""
        known, machine = self._state.variant(result.variant), self._state.machine
        if result.device == RECORDED:
            return known is None or known.kind != "cpu"
        return server_of(result) == (machine.title if machine else "")

    def can_measure(self, device: str) -> bool:
        """Whether a device is here whose limits mean something."""
        known = self._state.device(device)
        return known is not None and known.available and known.times_mean_speed

    def look_up(self, device: str) -> None:
        """Ask once whether the limits of a device were measured before."""
        if device in self._found or device in self._asked or not self._state.is_ready:
            return
        self._asked.add(device)
        # A lost host's successor is asked again.
        ask = Ask(KeptLimits(device), partial(self._note, device), lambda error: self._asked.discard(device))
        self._link.ask(ask)

    def measure(self, device: str) -> None:
        """Measure the limits of a device, after which they are kept; nothing happens while others run."""
        known = self._state.device(device)
        title = f"Limits of {known.title if known else device}"

        def replied(limits: DeviceLimits) -> None:
            self._note(device, limits)
            self.measured.emit(device)

        self._jobs.begin(_SOURCE, [Job(title, MeasureLimits(device), replied)], self._messages)

    def _forget(self) -> None:
        """Forget those of another machine, whose devices have the same keys."""
        self._found.clear()
        self._asked.clear()
        self.changed.emit()

    def _note(self, device: str, limits: DeviceLimits | None) -> None:
        self._asked.discard(device)
        self._found[device] = limits
        self.changed.emit()
