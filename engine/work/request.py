"""A request for a chain, as it was made: nothing is resolved yet."""

from dataclasses import dataclass

from engine.device_info import AUTO
from engine.geometry.layout import Layout
from engine.work.steps import Chain


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRequest:
    """Which steps to do with a picture, and where."""

    chain: Chain
    shown: str = ""  # id of the step whose result is wanted; empty: the last one
    device: str = AUTO  # "cpu", "cuda:0", ..., "simulator", or "auto": CUDA if there is one that works
    layout: Layout = Layout.PITCHED  # of the rows on a CUDA device
