"""State of the engine's process: its variants, devices, progress and last result. No widgets, no client.

Panels read this and connect to its signals; only controllers call the methods that change it.
"""

from itertools import chain

from PySide6.QtCore import QObject, QTimer, Signal

from engine.device_info import AUTO, DeviceInfo
from engine.errors import Reason
from engine.host.protocol import Filtered
from engine.host.request import Availability, Ready, VariantInfo
from engine.remote.ssh import RemoteServer
from engine.results.problem import Progress
from engine.work.messages import OperationInfo

STARTING, READY, RESTARTING, CONNECTING, LOST = "starting", "ready", "restarting", "connecting", "lost"
# Work that takes longer than this is shown with its progress.
SLOW_MS = 500


class EngineState(QObject):
    """The engine's part of the window's state."""

    ready_changed = Signal()  # `status`, `variants` or `devices`
    machine_changed = Signal()  # `machine`, or the connection to it is a new one
    servers_changed = Signal()
    machine_wanted = Signal(object)  # the RemoteServer that a person has chosen; None for this computer
    another_wanted = Signal()  # another machine is to be named
    availability_changed = Signal()  # other variants can do the job, or for other reasons they cannot
    progress_changed = Signal()  # `busy`, `slow`, `running`, `cancelling`, `stage` or `fraction`
    running_changed = Signal()  # `running` or `cancelling`
    # Filtered: a picture to be shown, of a preview or of a run. Views take it before they return: the memory
    # of the one before is freed after the signal.
    filtered = Signal(object)
    recorded_changed = Signal()  # `shows_recorded`
    result_aged = Signal()  # `result_is_earlier`: the visible result has other settings than the current ones

    def __init__(self) -> None:
        super().__init__()
        self.status = STARTING
        # Those of convolution; those of other operations are listed when one is chosen.
        self.variants: tuple[VariantInfo, ...] = ()
        self._operations: dict[str, tuple[VariantInfo, ...]] = {}
        self.devices: tuple[DeviceInfo, ...] = ()
        # The server that computes; None for this computer. And those that are known.
        self.machine: RemoteServer | None = None
        self.servers: tuple[RemoteServer, ...] = ()
        # The newest answer about each variant.
        self.availability: dict[str, Availability] = {}
        self.running = False
        self.cancelling = False
        # The device that was chosen last, on any page.
        self.chosen_device = AUTO
        # Whether figures that a GPU measured elsewhere are shown beside those of this machine, on every page.
        self.shows_recorded = False
        self.stage = ""
        self.fraction = 0.0
        self.last_result: Filtered | None = None
        self.result_is_earlier = self.result_is_passing = False
        self._tasks: dict[object, Progress] = {}
        self._beside: set[object] = set()
        # Whether it has been busy for so long that progress is to be shown.
        self.slow = False
        self._slow_timer = QTimer(self, singleShot=True, interval=SLOW_MS)
        self._slow_timer.timeout.connect(self._became_slow)

    @property
    def busy(self) -> bool:
        return bool(self._tasks)

    @property
    def is_ready(self) -> bool:
        return self.status == READY

    @property
    def has_gpu(self) -> bool:
        return any(device.is_usable_gpu for device in self.devices)

    @property
    def lacks_gpu(self) -> bool:
        """Whether it is known that there is none."""
        return bool(self.devices) and not self.has_gpu

    @property
    def why_no_run(self) -> str:
        """Why no run can start now; empty if one can."""
        if not self.is_ready:
            return f"Not now: the engine is {self.status}."
        return "Not now: a run is in progress; Esc cancels it." if self.running else ""

    def variant(self, key: str) -> VariantInfo | None:
        listed = chain(self.variants, *self._operations.values())
        return next((variant for variant in listed if variant.key == key), None)

    def variants_of(self, operation: str) -> tuple[VariantInfo, ...]:
        """Return the variants of an operation in teaching order, none before they are listed."""
        return self._operations.get(operation, ()) if operation else self.variants

    def device(self, key: str) -> DeviceInfo | None:
        return next((device for device in self.devices if device.key == key), None)

    def used_device(self, wanted: str) -> DeviceInfo | None:
        """Return the device that a CUDA kernel, or auto, runs on when `wanted` is chosen."""
        if wanted != AUTO:
            return self.device(wanted)
        return next((d for d in self.devices if d.is_usable_gpu), None) or self.device("cpu")

    @property
    def no_gpu(self) -> Reason | None:
        """Why no real GPU can be used; None where one can, or while the devices are not known."""
        if self.has_gpu:
            return None
        return next((one.reason for one in self.devices if one.kind == "cuda" and one.reason), None)

    def set_ready(self, ready: Ready) -> None:
        self.status, self.variants, self.devices = READY, ready.variants, ready.devices
        self.ready_changed.emit()

    def set_machine(self, machine: RemoteServer | None, status: str) -> None:
        """Note which machine computes, and that its engine is not up yet: its devices are not known."""
        if machine != self.machine:
            self.devices = ()
        self.machine, self.status = machine, status
        self.machine_changed.emit()
        self.ready_changed.emit()

    def set_servers(self, servers: tuple[RemoteServer, ...]) -> None:
        self.servers = servers
        self.servers_changed.emit()

    def set_operations(self, infos: tuple[OperationInfo, ...]) -> None:
        """Note the variants of the operations other than convolution."""
        self._operations = {info.key: info.variants for info in infos}
        self.ready_changed.emit()

    def set_status(self, status: str) -> None:
        """Set the host's status: "starting", "ready", "restarting", "lost: ..."."""
        if status != self.status:
            self.status = status
            self.ready_changed.emit()

    def set_availability(self, availability: tuple[Availability, ...]) -> None:
        new = self.availability | {entry.variant: entry for entry in availability}
        if new != self.availability:
            self.availability = new
            self.availability_changed.emit()

    def show_recorded(self, shows: bool) -> None:
        if shows != self.shows_recorded:
            self.shows_recorded = shows
            self.recorded_changed.emit()

    def set_running(self, running: bool, cancelling: bool = False) -> None:
        """Note whether runs are in progress (previews are not runs), and whether they are being cancelled."""
        if (running, cancelling) != (self.running, self.cancelling):
            self.running, self.cancelling = running, cancelling
            self.running_changed.emit()
            self.progress_changed.emit()

    @property
    def can_stop(self) -> bool:
        """Whether Cancel stops something that is done."""
        return any(task not in self._beside for task in self._tasks)

    def set_task(self, task: object, stage: str, fraction: float = 0.0, *, is_beside: bool = False) -> None:
        """Note how far a task is, the newest shown; one `is_beside`, as a batch, is not stopped by Cancel."""
        if is_beside:
            self._beside.add(task)
        # A fast kernel reports each of its thousands of samples: the view changes only with the text.
        if task in self._tasks and (stage, fraction) == (self.stage, self.fraction):
            return
        self._tasks.pop(task, None)
        self._tasks[task] = Progress(stage, fraction, 0.0)
        self._show_newest_task()

    def end_task(self, task: object) -> None:
        if self._tasks.pop(task, None) is not None:
            self._show_newest_task()

    def show_filtered(self, filtered: Filtered, *, is_passing: bool = False) -> None:
        """Show a filtered picture; one that passes is followed by that of a newer edit."""
        self.last_result, self.result_is_passing = filtered, is_passing
        self.filtered.emit(filtered)
        self.set_result_earlier(False)

    def forget_filtered(self) -> None:
        self.last_result = None
        self.set_result_earlier(False)

    def set_result_earlier(self, earlier: bool) -> None:
        if earlier != self.result_is_earlier:
            self.result_is_earlier = earlier
            self.result_aged.emit()

    def _show_newest_task(self) -> None:
        newest = next(reversed(self._tasks.values()), None)
        self.stage, self.fraction = (newest.stage, newest.fraction) if newest else ("", 0.0)
        if newest is None:
            self.slow = False
            self._slow_timer.stop()
        elif not self.slow and not self._slow_timer.isActive():
            self._slow_timer.start()
        self.progress_changed.emit()

    def _became_slow(self) -> None:
        self.slow = True
        self.progress_changed.emit()
