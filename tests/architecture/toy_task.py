"""A toy task: numbers times a factor. Its problem, its variants, and the class that answers the pipeline."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from engine.device.backend import Backend, Buffers
from engine.device.launches import DeviceKind
from engine.device_info import DeviceInfo
from engine.errors import UnknownName, UnsupportedVariant
from engine.geometry.block import Block
from engine.run.device_choice import refuse_other_kind
from engine.run.job import Job
from engine.tasks.contract import Task
from engine.tasks.work import Work
from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True)
class Scaling:
    task: ClassVar[str] = "scaling"
    checked_unit: ClassVar[str] = "number"
    count: int
    factor: float

    @property
    def size_text(self) -> str:
        return f"{self.count} numbers"

    @property
    def values(self) -> int:
        return self.count

    @property
    def comparable(self) -> Hashable:
        return self

    def csv_columns(self) -> dict[str, str | int | float | None]:
        return {"count": self.count, "factor": self.factor}


ONE = Block(1, 1)


@dataclass(frozen=True, slots=True)
class ToyVariant:
    key: str
    error: float = 0.0
    title: str = "A toy"
    device: DeviceKind = DeviceKind.CPU
    uses_block: bool = False
    default_block: Block = ONE


class Launch:
    def __init__(self, factor: float, error: float) -> None:
        self._factor, self._error = factor, error

    def launch(self, image: Any, out: Any, stream: Any = None) -> None:
        np.multiply(image, self._factor, out=out)
        out += self._error


VARIANTS = (
    ToyVariant("in-one-go"),
    ToyVariant("wrong", error=1.0),
    ToyVariant("on-the-gpu", device=DeviceKind.CUDA),
    ToyVariant("for-few"),
)


class Scale(Task[Scaling, np.ndarray, ToyVariant]):
    def variant(self, key: str, operands: np.ndarray) -> ToyVariant:
        for variant in VARIANTS:
            if variant.key == key:
                return variant
        raise UnknownName(f"variant '{key}'")

    def random_operands(self, problem: Scaling, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).random(problem.count, np.float32)

    def refuse(
        self, variant: ToyVariant, problem: Scaling, operands: np.ndarray, block: Block, device: DeviceInfo
    ) -> None:
        refuse_other_kind(variant, device)
        if variant.key == "for-few" and problem.count > 3:
            raise UnsupportedVariant("variant 'for-few'", "there are more than 3 numbers", "Give fewer.")

    def expected_launch_s(
        self, variant: ToyVariant, problem: Scaling, block: Block, device: DeviceInfo
    ) -> float:
        return 0.1

    def prepare(self, variant: ToyVariant, problem: Scaling, operands: np.ndarray, block: Block) -> Launch:
        return Launch(problem.factor, variant.error)

    def allocate(
        self, backend: Backend, problem: Scaling, operands: np.ndarray, host_out: Any = None
    ) -> Buffers:
        out = np.empty(problem.count, np.float32) if host_out is None else host_out
        return Buffers(operands, out, out)

    def upload(self, backend: Backend, operands: np.ndarray, buffers: Buffers) -> None:
        pass

    def verify(
        self,
        values: Any,
        variant: ToyVariant,
        problem: Scaling,
        operands: np.ndarray,
        block: Block,
        *,
        seed: int,
        affordable: int | None,
        checkpoint: Callable[[float], None],
    ) -> Verification:
        checkpoint(0.0)
        error = float(np.abs(values - problem.factor * operands.astype(np.float64)).max())
        passed = error <= 1e-6
        reason = "" if passed else "not verified: a number is off"
        return Verification(passed, error, 1e-6, problem.count, problem.count, error == 0.0, reason)

    def work(self, variant: ToyVariant, problem: Scaling, block: Block) -> Work:
        count = problem.count
        return Work(count, count, count, 4 * count, 4 * count, 8 * count)

    def copied_bytes(self, problem: Scaling) -> int:
        return 8 * problem.count


SCALE = Scale()


def toy_job(key: str, problem: Scaling, seed: int = 0) -> Job[Scaling, np.ndarray, ToyVariant]:
    """Return a job of the toy task on random numbers."""
    numbers = SCALE.random_operands(problem, seed)
    chosen = SCALE.variant(key, numbers)
    return Job(SCALE, chosen, chosen.default_block, problem, numbers, seed=seed)
