"""What the host says about a variant of any task: what it is, and whether it can do a job."""

from collections.abc import Callable
from typing import Any

from engine.errors import EngineError
from engine.host.messages import VariantInfo
from engine.host.protocol import Availability
from engine.run.variant import AnyVariant


def info_of(v: AnyVariant[Any, Any]) -> VariantInfo:
    """Return a variant as the window shows it."""
    kind, block = v.device.value, v.default_block
    return VariantInfo(v.key, v.title, kind, v.idea, block, v.uses_block, v.remark, v.group)


def availability_of(key: str, refuse: Callable[[], object]) -> Availability:
    """Return whether a variant can do a job, which `refuse` refuses with an `EngineError`, and why not."""
    try:
        refuse()
    except EngineError as error:
        return Availability(key, error.reason)
    return Availability(key)
