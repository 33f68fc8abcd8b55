"""The panel Launch with the real engine, which compiles without a device where the compiler is there."""

import pytest

from engine.geometry.block import Block
from tests.engine.variants.emitted import NEEDS_NVVM

# The engine's process starts, and a kernel is compiled: 2 s.
pytestmark = [pytest.mark.slow, *NEEDS_NVVM]


def test_that_the_engine_finds_the_registers_of_the_kernel_that_is_looked_at(window, qtbot):
    page = window.window.page_of("explore")
    page.bring_to_front("launch")
    page.selection.select("tiled")
    page.workspace.change(block=Block(16, 8))
    qtbot.waitUntil(
        lambda: page.launch.launch is not None and page.launch.launch.is_compiled, timeout=200_000
    )
    assert page.launch.launch.facts.block[:2] == (16, 8)
    assert 16 <= page.launch.launch.facts.registers <= 255
    assert page.launch.note == ""
