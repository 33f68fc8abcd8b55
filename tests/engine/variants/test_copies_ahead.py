"""Asynchronous copies: the kernels' own source, run with copies that arrive as late as allowed."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from engine.device.kernel_factory import import_names
from engine.geometry.border import Border
from engine.mask.generators import gaussian
from engine.mask.mask import Mask
from engine.variants.box import box
from engine.variants.low_rank import product_strips
from engine.variants.register_blocked import register_blocked
from engine.variants.separable_fused import fused_in_place, fused_ring
from engine.work.filtering.resolve import describe_problem
from engine.work.filtering.variants import MaskClass, variant
from tests.engine.variants.cases import verified
from tests.engine.variants.counting import count


class LateCopies:
    """Stands in for the loader and its groups: a thread's copies arrive when it waits for them."""

    def __init__(self):
        self.groups = {}

    def late(self, maker):
        """Return what makes a loader that notes its copies as a group."""

        def make(*arguments):
            load_now = maker(*arguments).py_func

            def load(tile, *others):
                copies = {}
                load_now(copies, *others)
                self._mine().append((tile, copies))

            return load

        return make

    def closer(self):
        """Return the function that makes an empty group."""
        return lambda: self._mine().append((None, {}))

    def waiter(self, pending):
        """Return the function that lets all groups arrive but the last `pending` ones."""

        def wait():
            groups = self._mine()
            while len(groups) > pending:
                tile, copies = groups.pop(0)
                for place, value in copies.items():
                    tile[place] = value

        return wait

    def _mine(self):
        # The kernel that called: who it is, and which block it belongs to by its shared memory.
        names = sys._getframe(2).f_locals
        return self.groups.setdefault((id(names["tile"]), names["lane"], names["warp"]), [])


LOADERS = "tile_loader", "byte_tile_loader", "strip_loader"
CASES = {
    "register-blocked, one step": (register_blocked, 5, "float32"),
    "register-blocked, two steps": (register_blocked, 7, "float32"),
    "register-blocked, bytes": (register_blocked, 5, "uint8"),
    "separable-fused, in place": (fused_in_place, 5, "float32"),
    "separable-fused, a ring": (fused_in_place, 27, "float32"),
    "separable-fused, a ring of filtered rows": (fused_ring, 35, "float32"),
    "low-rank-2, one ahead": (product_strips, 9, "float32"),
    "box, a tile": (box, 5, "float32"),
    "box, a ring": (box, 25, "float32"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_that_no_cell_is_read_before_its_copy_was_waited_for(name, monkeypatch):
    known, (module, side, dtype), copies = variant(name.partition(",")[0]), CASES[name], LateCopies()
    # Else the first kernel that is made imports them over what is patched here.
    import_names(module.__name__)
    late = {name: copies.late(vars(module)[name]) for name in LOADERS if name in vars(module)}
    for called, made in {"closer": copies.closer, "waiter": copies.waiter, **late}.items():
        monkeypatch.setattr(module, called, made, raising=False)
    # Not the kernels that are kept: those have their loaders.
    for kernel in {"kernel", "byte_kernel"} & set(vars(module)):
        monkeypatch.setattr(module, kernel, getattr(module, kernel).__wrapped__)
    # Else only large pictures take several steps a block.
    monkeypatch.setattr(fused_in_place, "MULTIPROCESSORS", 0)
    monkeypatch.setattr(fused_in_place, "rows_of_strips", lambda *_, step: 8 * step)
    mask = Mask(np.full((side, side), 0.3)) if known.masks is MaskClass.EQUAL_WEIGHTS else gaussian(side)
    if module is product_strips:
        mask = Mask(mask.weights + gaussian(side, sigma=1.0).weights)
    # As high as a block, so that the last rows of its tile are needed; a ring takes two steps.
    height, width = {27: (64, 9), 35: (64, 2)}.get(side, (48, 9))
    scale = 256.0 if dtype == "uint8" else 1.0
    image = (np.random.default_rng(side).random((height, width, 1)) * scale).astype(dtype)
    problem = describe_problem(image, mask, Border.CONSTANT, scale / 2)
    problem = replace(problem, result_dtype=dtype)
    # Cells of shared memory are NaN until somebody writes them.
    result = count(known, problem, mask, known.default_block, image).out
    verified(result, image, mask, problem)
    assert copies.groups
