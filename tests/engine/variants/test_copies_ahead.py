"""Copies that no thread waits for: the kernels' own source, run with copies that arrive as late as they may."""

import sys
from typing import Any

import numpy as np
import pytest

from engine.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.metrics.agreement import verify
from engine.timing.request import describe_problem
from engine.variants.contract import Variant
from engine.variants.cuda import box, fused_strips, fused_tiles, register_blocked, separable_fused
from engine.variants.emit.cuda_strip_loader import strip_loader
from engine.variants.emit.cuda_tile_loader import tile_loader
from tests.engine.variants.counting import count


class LateCopies:
    """Stands in for the loader and its groups: a thread's copies are there when it waits for them, not before."""

    def __init__(self) -> None:
        self._groups: dict[Any, list[Any]] = {}

    def tile_loader(self, *arguments: Any) -> Any:
        """Return a loader that notes its copies as a group."""
        return self._late(tile_loader(*arguments).py_func)

    def strip_loader(self, *arguments: Any) -> Any:
        """Return a loader that notes its copies as a group."""
        return self._late(strip_loader(*arguments).py_func)

    def _late(self, load_now: Any) -> Any:
        def load(tile: Any, *others: Any) -> None:
            copies: dict[int, Any] = {}
            load_now(copies, *others)
            self._mine().append((tile, copies))

        return load

    def closer(self) -> Any:
        """Return the function that makes an empty group."""
        return lambda: self._mine().append((None, {}))

    def waiter(self, pending: int) -> Any:
        """Return the function that lets all groups arrive but the last `pending` ones."""

        def wait() -> None:
            groups = self._mine()
            while len(groups) > pending:
                tile, copies = groups.pop(0)
                for place, value in copies.items():
                    tile[place] = value

        return wait

    def _mine(self) -> list[Any]:
        # The kernel that called: who it is, and which block it belongs to by its shared memory.
        names = sys._getframe(2).f_locals
        return self._groups.setdefault((id(names["tile"]), names["lane"], names["warp"]), [])


@pytest.mark.parametrize(
    ("variant", "module", "side"),
    [
        (register_blocked.VARIANT, register_blocked, 5),
        (register_blocked.VARIANT, register_blocked, 7),
        (separable_fused.VARIANT, fused_strips, 5),
        (separable_fused.VARIANT, fused_tiles, 35),
        (box.VARIANT, box, 5),
        (box.VARIANT, box, 11),
    ],
    ids=[
        "register-blocked, one step",
        "register-blocked, two steps",
        "separable-fused, three ahead",
        "separable-fused, one ahead",
        "box, without segments",
        "box, with segments",
    ],
)
def test_that_no_cell_is_read_before_its_copy_was_waited_for(
    variant: Variant, module: Any, side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = LateCopies()
    for name in ("tile_loader", "strip_loader", "closer", "waiter"):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, getattr(copies, name))
    # Not the kernels that are kept: those have their loaders.
    monkeypatch.setattr(module, "kernel", module.kernel.__wrapped__)
    mask = Mask(np.full((side, side), 0.3)) if variant.key == "box" else gaussian(side)
    # As high as a block, so that the last rows of its tile are needed.
    image = np.random.default_rng(side).random((48, 9, 1)).astype(np.float32)
    problem = describe_problem(image, mask, Border.CONSTANT, 0.5)
    # Cells of shared memory are NaN until somebody writes them.
    result = count(variant, problem, mask, variant.default_block, image).out
    verification = verify(np.ascontiguousarray(result), image, mask, problem)
    assert verification.passed, verification.reason
