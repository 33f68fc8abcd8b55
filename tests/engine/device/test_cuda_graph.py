from types import SimpleNamespace

import pytest

from engine.device import cuda_graph
from engine.device.cuda_graph import LAUNCHES_BEFORE_GRAPH, RepeatedLaunch


@pytest.mark.parametrize("can_be_captured", [True, False])
def test_that_a_repeated_launch_is_captured_once_or_goes_on_as_before(monkeypatch, device, can_be_captured):
    done: list[str] = []

    class Graph:
        def __init__(self, prepared: object, buffers: object, stream: object, launches: int) -> None:
            assert (prepared, buffers, launches) == (variant, arrays, 1)
            assert stream != "stream", "another thread's work there would be captured too"
            done.append("capture")
            if not can_be_captured:
                raise ValueError("not here")

        def replay(self, stream: object) -> None:
            assert stream == "stream"
            done.append("replay")

        def close(self) -> None:
            done.append("close")

    monkeypatch.setattr(cuda_graph, "LaunchGraph", Graph)
    monkeypatch.setattr(cuda_graph, "_capturing_stream", lambda device: "a stream for that")
    variant = SimpleNamespace(launch=lambda *arguments: done.append("launch"))
    arrays = SimpleNamespace(image=None, out=None)
    launch = RepeatedLaunch(variant, arrays, "stream")
    for _ in range(LAUNCHES_BEFORE_GRAPH + 3):
        launch.enqueue()
    launch.close()
    launch.close()
    after = ["replay"] * 3 + ["close"] if can_be_captured else ["launch"] * 3
    assert done == ["launch"] * LAUNCHES_BEFORE_GRAPH + ["capture"] + after
