"""A request for an operation, as it was made: nothing is resolved yet."""

from dataclasses import dataclass, field
from typing import Any

from engine.device_info import AUTO
from engine.geometry.block import Block
from engine.geometry.layout import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRequest:
    """What to do with a picture, and how."""

    operation: str  # key, such as "median"
    settings: dict[str, Any] = field(default_factory=dict)  # the parameters that are given, by name
    variant: str = AUTO  # key, or "auto"
    block: Block | None = None  # None: the variant's default
    device: str = AUTO  # "cpu", "cuda:0", ..., "simulator", or "auto": CUDA if there is one that works
    layout: Layout = Layout.PITCHED  # of the rows on a CUDA device
