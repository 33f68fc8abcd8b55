"""What is chosen of the operations other than convolution, and what was found. No widgets in here.

An empty key is convolution, which the workspace describes; picture, device and layout are the workspace's for
all operations.
"""

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from engine.device_info import AUTO
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.host.messages import VariantInfo
from engine.host.protocol import Availability
from engine.results.measurement import Measurement
from engine.tasks.operation.messages import Operated, OperationInfo, OperationJob
from engine.tasks.operation.results import OperationResult
from gui.explore.workspace import Workspace

# What runs share whose times stand in one list: all but kernel, block and device.
_Problem = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choices of one operation."""

    parameters: dict[str, Any] = field(default_factory=dict)  # those that differ from their defaults
    patch_path: str = ""
    variant: str = AUTO
    block: Block | None = None


class OperationState(QObject):
    """The state of the operations of the page Explore."""

    chosen = Signal()  # another operation
    changed = Signal()  # anything that a result depends on
    listed = Signal()  # the variants are known
    availability_changed = Signal()
    found_changed = Signal()  # what was found, why nothing was, or a run

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self.key = ""
        self._choices: dict[str, Chosen] = {}
        self._infos: dict[str, tuple[VariantInfo, ...]] = {}
        self.availability: dict[str, Availability] = {}
        self.found: Operated | None = None
        self.refusal = ""
        self._runs: list[tuple[_Problem, OperationResult]] = []
        workspace.picture_changed.connect(self.changed)
        workspace.settings_changed.connect(self._follow_settings)
        self._device_and_layout = self._where()

    @property
    def is_active(self) -> bool:
        """Whether an operation other than convolution is chosen."""
        return bool(self.key)

    @property
    def choice(self) -> Chosen:
        """The choices of the operation."""
        return self._choices.get(self.key, Chosen())

    @property
    def variants(self) -> tuple[VariantInfo, ...]:
        """The variants of the operation, in teaching order; none before the engine has listed them."""
        return self._infos.get(self.key, ())

    @property
    def is_listed(self) -> bool:
        """Whether the engine has listed the variants."""
        return bool(self._infos)

    def choose(self, key: str) -> None:
        """Choose an operation; an empty key is convolution."""
        if key == self.key:
            return
        self.key = key
        self.availability, self.found, self.refusal = {}, None, ""
        self._workspace.set_filtering(not key)
        self.chosen.emit()
        self.changed.emit()
        self.found_changed.emit()

    def show(self, key: str, choice: Chosen) -> None:
        """Choose an operation with these choices, as a session has them."""
        self.choose(key)
        if key:
            self.change(**{name.name: getattr(choice, name.name) for name in fields(choice)})

    def change(self, **changes: Any) -> None:
        """Change choices of the operation: `state.change(variant="median-tiled")`."""
        new = replace(self.choice, **changes)
        if new != self.choice:
            self._choices[self.key] = new
            self.changed.emit()

    def set_parameter(self, name: str, value: Any) -> None:
        """Give a parameter of the operation another value."""
        self.change(parameters=self.choice.parameters | {name: value})

    def set_infos(self, infos: tuple[OperationInfo, ...]) -> None:
        """Note the variants of every operation."""
        self._infos = {info.key: info.variants for info in infos}
        self.listed.emit()

    def set_availability(self, found: tuple[Availability, ...]) -> None:
        """Note which variants can do the job."""
        self.availability = {entry.variant: entry for entry in found}
        self.availability_changed.emit()

    def show_found(self, found: Operated | None, refusal: str = "") -> None:
        """Show what was found, or why nothing was."""
        self.found, self.refusal = found, refusal
        self.found_changed.emit()

    def add_run(self, job: OperationJob, result: OperationResult) -> None:
        """Note a run of a job."""
        self._runs.append((_problem_of(job), result))
        self.found_changed.emit()

    def forget_runs(self) -> None:
        """Forget all runs."""
        if self._runs:
            self._runs = []
            self.found_changed.emit()

    def runs(self) -> dict[str, OperationResult]:
        """Return the newest run of each variant on the present problem."""
        present = self.problem
        return {result.variant: result for problem, result in self._runs if problem == present}

    @property
    def problem(self) -> Hashable:
        """What runs share that are for the problem that is set now; None where there is none."""
        job = self.job()
        return None if job is None else _problem_of(job)

    def problem_of(self, run: Measurement[Any]) -> Hashable:
        """Return what a run shares with those that are for the same problem."""
        return next((problem for problem, result in self._runs if result is run), None)

    def job(self) -> OperationJob | None:
        """Return the job that the state describes; None without a picture or an operation."""
        picture, choice, settings = self._workspace.picture, self.choice, self._workspace.settings
        if picture is None or not self.key:
            return None
        parameters = choice.parameters
        if choice.patch_path:
            # The whole file is the patch.
            parameters = {}
        return OperationJob(
            operation=self.key,
            settings=parameters,
            variant=choice.variant,
            block=choice.block,
            device=settings.device,
            layout=settings.layout,
            picture=picture,
            patch_path=choice.patch_path,
        )

    def _where(self) -> tuple[Any, ...]:
        return self._workspace.settings.device, self._workspace.settings.layout

    def _follow_settings(self) -> None:
        if self._where() != self._device_and_layout:
            self._device_and_layout = self._where()
            self.changed.emit()


def _problem_of(job: OperationJob) -> _Problem:
    # Its modules take a while to import; whoever has a job of an operation has them.
    from engine.tasks.operation.operations import operation_named

    parameters = dict(job.settings)
    # Parameters that are refused have no runs. A default that was chosen is the same as one left alone.
    with suppress(EngineError):
        parameters = operation_named(job.operation).read(job.settings)
    return job.operation, tuple(sorted(parameters.items())), job.picture, job.patch_path
