"""What a task is: everything that the pipeline of `engine.run` asks of one. No Numba in here.

A task is a folder of this room with its problem, oracle, agreement and model of work, and one class in
`engine.run` that answers the questions below with them. The pipeline (resolve, verify, measure, sample,
sweep), the host and the results know no task by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from engine.device_info import DeviceInfo
from engine.geometry.block import Block
from engine.tasks.work import Work
from engine.verify.verification import Verification

if TYPE_CHECKING:
    from engine.device.backend import Backend, Buffers
    from engine.device.launches import Prepared


class AnyVariant(Protocol):
    """What the pipeline asks of a variant of any task."""

    @property
    def key(self) -> str:
        """Stable name."""

    @property
    def title(self) -> str:
        """Name for people."""

    @property
    def device(self) -> str:
        """Kind of device that it is written for."""

    @property
    def uses_block(self) -> bool:
        """Whether the block changes how it runs."""

    @property
    def default_block(self) -> Block:
        """The block that is used where nobody chose."""


P = TypeVar("P")
O = TypeVar("O")  # noqa: E741 - P: problem, O: operands, V: variant
V = TypeVar("V", bound=AnyVariant)


class Task(ABC, Generic[P, O, V]):
    """A kind of computation: its problem P, its operands O, its variants V. It has no state.

    Attributes
    ----------
    verifying_s : float
        How long the oracle takes between two checkpoints, seconds.
    counts_unrun : bool
        Whether the model of work is shown of what did not run, too.
    """

    verifying_s: ClassVar[float] = 2.0
    counts_unrun: ClassVar[bool] = False

    @abstractmethod
    def variant(self, key: str, operands: O) -> V:
        """Return the variant of that key for these operands; an `UnknownName` tells that there is none."""

    @abstractmethod
    def random_operands(self, problem: P, seed: int) -> O:
        """Return operands to measure with, the same for the same seed."""

    @abstractmethod
    def refuse(self, variant: V, problem: P, operands: O, block: Block, device: DeviceInfo) -> None:
        """Refuse what a variant cannot do on a device, before anything is made ready.

        Raises
        ------
        UnsupportedVariant, BadValue
        """

    @abstractmethod
    def expected_launch_s(self, variant: V, problem: P, block: Block, device: DeviceInfo) -> float:
        """Estimate one launch before any was seen, seconds."""

    @abstractmethod
    def prepare(self, variant: V, problem: P, operands: O, block: Block) -> "Prepared":
        """Compile a variant."""

    @abstractmethod
    def allocate(self, backend: "Backend", problem: P, operands: O, host_out: Any = None) -> "Buffers":
        """Return buffers on a device; the result goes to `host_out` where that is given."""

    @abstractmethod
    def upload(self, backend: "Backend", operands: O, buffers: "Buffers") -> None:
        """Copy the operands to the device and wait for them."""

    @abstractmethod
    def verify(
        self,
        values: Any,
        variant: V,
        problem: P,
        operands: O,
        block: Block,
        *,
        seed: int,
        affordable: int | None,
        checkpoint: Callable[[float], None],
    ) -> Verification:
        """Compare a result with the oracle, which may spend `affordable` multiply-adds; None: as usual."""

    @abstractmethod
    def work(self, variant: V, problem: P, block: Block) -> Work | None:
        """Return the model of work; None where nobody can say."""

    @abstractmethod
    def copied_bytes(self, problem: P) -> int:
        """Return the bytes that are copied to the device and back."""

    def labels(self, operands: O, device_kind: str) -> dict[str, Any]:
        """Return what else a `Measurement` tells of the operands, by the names of its fields."""
        return {}

    def result(self, values: Any, operands: O) -> Any:
        """Return a computed array in the shape that the caller expects."""
        return values
