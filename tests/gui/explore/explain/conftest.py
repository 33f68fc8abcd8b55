"""Panels of Explain on a bench; tiles of blocks as they run."""

from functools import cache

import numpy as np
import pytest

from engine.explain.tiles import tile_plans
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.task import Job
from engine.work.filter_task import FILTERING
from engine.work.filtering.variants import variant
from engine.work.problem import Problem
from gui.explore.explain.ablation_panel import AblationPanel, AblationState
from gui.explore.explain.code_panel import CodePanel, CodeState
from gui.explore.explain.launch_panel import LaunchPanel, LaunchState
from gui.explore.explain.roofline_panel import RooflinePanel
from gui.explore.explain.roofline_state import RooflineState
from gui.explore.explain.selection import Selection
from gui.explore.explain.tile_panel import TilePanel, TileState
from gui.explore.explain.why_panel import WhyPanel
from gui.explore.explain.why_state import WhyState
from gui.page.messages import PageMessages

_SIZES = {
    AblationPanel: (700, 220), CodePanel: (620, 500), LaunchPanel: (700, 220), TilePanel: (300, 600),
    RooflinePanel: (500, 300), WhyPanel: (360, 400),
}  # fmt: skip


def _roofline(bench, selection):
    messages = PageMessages(bench.messages, None)
    return RooflineState(selection, bench.link, bench.jobs, messages)


def _why(bench, selection):
    return WhyState(selection, bench.link, _roofline(bench, selection))


_STATES = {
    AblationPanel: lambda bench, about: AblationState(about, bench.jobs, bench.behind),
    CodePanel: lambda bench, about: CodeState(about, bench.link),
    LaunchPanel: lambda bench, about: LaunchState(about, bench.link),
    TilePanel: lambda bench, about: TileState(about, bench.link),
    RooflinePanel: _roofline,
    WhyPanel: _why,
}


@pytest.fixture
def explained(look_at):
    """Return a function that shows a panel of Explain on a bench, about a kernel with a mask of 5 x 5."""

    def make(bench, panel, **kernel):
        if kernel:
            bench.workspace.set_mask(Mask([[1.0] * 5] * 5))
            bench.change(**kernel)
        state = _STATES[panel](bench, Selection(bench.workspace, bench.state, bench.results))
        return look_at(panel(state), state, _SIZES[panel], bench)

    return make


@pytest.fixture(scope="session")
def tile_of():
    """Return a function that gives the tiles of a variant's block, each interpreted once."""

    @cache
    def tiles(
        key, block, at=(0, 0), mask=(1, 5), size=(1, 32), border=Border.ZERO, channels=1, dtype="uint8"
    ):
        anchor = mask[0] // 2, mask[1] // 2
        problem = Problem(*size, channels, dtype, mask_shape=mask, anchor=anchor, border=Border(border))
        samples = np.zeros((*size, channels), dtype)
        job = Job(FILTERING, variant(key), Block(*block), problem, samples, Mask(np.ones(mask)))
        return tile_plans(job, at)

    return tiles
