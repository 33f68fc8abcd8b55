"""What the engine's process is asked about chains, and its replies."""

from dataclasses import dataclass
from typing import ClassVar

from engine.host.protocol import Filtered, PictureHandle
from engine.results.measurement import StepTime
from engine.verify.regions import Region
from engine.work.request import ChainRequest
from engine.work.results import ChainResult
from engine.work.steps import Chain


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainJob(ChainRequest):
    """Everything that a chain on a picture depends on. Preview and Run reply: Chained."""

    answers: ClassVar[str] = "engine.work.answers"
    tile_answers: ClassVar[str] = "engine.flow.tiles"
    resolved_by: ClassVar[str] = "engine.work.resolve:ResolvedChain"
    region: ClassVar[Region | None] = None  # a chain is done with all of the picture
    picture: PictureHandle
    # Of a large picture, row and column of the middle of the part that a run measures; None: its own middle.
    centre: tuple[int, int] | None = None

    @property
    def range_mode(self) -> str:
        """How results outside the picture's range are shown."""
        return self.chain.range


@dataclass(frozen=True, slots=True)
class ChainsRequest:
    """Describe: the ready chains. Reply: tuple of Chain."""

    answers: ClassVar[str] = "engine.work.answers"


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """Describe: what of a chain could become one mask, for its picture on its device. Reply: Mergers."""

    answers: ClassVar[str] = "engine.work.merge_answers"
    job: ChainJob


@dataclass(frozen=True, slots=True)
class MergerOffer:
    """A merger in words, and the chain with it."""

    sentence: str
    is_faster: bool
    chain: Chain


@dataclass(frozen=True, slots=True)
class Chained:
    """What a chain, or its steps up to the one that is shown, makes of a picture.

    Of a preview the steps that did not change have the time that they took when they were computed; on a GPU
    they have none.
    """

    shown: Filtered
    steps: tuple[StepTime, ...] = ()
    result: ChainResult | None = None
