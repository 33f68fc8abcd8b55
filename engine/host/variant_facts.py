"""What the host says about a variant of any task: what it is, and whether it can do a job."""

from collections.abc import Callable
from typing import Any

from engine.errors import EngineError
from engine.host.messages import VariantInfo
from engine.host.protocol import Availability
from engine.variants.contract import AnyVariant


def info_of(variant: AnyVariant[Any, Any]) -> VariantInfo:
    """Return a variant as the window shows it."""
    return VariantInfo(
        variant.key,
        variant.title,
        variant.device.value,
        variant.idea,
        variant.default_block,
        variant.uses_block,
        variant.remark,
    )


def availability_of(key: str, refuse: Callable[[], object]) -> Availability:
    """Return whether a variant can do a job, which `refuse` refuses with an `EngineError`, and why not."""
    try:
        refuse()
    except EngineError as error:
        return Availability(key, error.reason)
    return Availability(key)
