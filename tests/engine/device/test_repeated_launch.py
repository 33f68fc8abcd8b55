from types import SimpleNamespace

import pytest

from engine.device import cuda_graph
from engine.device.cuda_graph import LAUNCHES_BEFORE_GRAPH, RepeatedLaunch


def test_that_a_launch_is_captured_once_when_it_has_gone_on_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    class Graph:
        def __init__(self, prepared: object, buffers: object, stream: object, launches: int) -> None:
            assert (prepared, buffers, launches) == (variant, arrays, 1)
            assert stream != "stream", "what others send there would be captured too"
            done.append("capture")

        def replay(self, stream: object) -> None:
            assert stream == "stream"
            done.append("replay")

        def close(self) -> None:
            done.append("close")

    monkeypatch.setattr(cuda_graph, "LaunchGraph", Graph)
    monkeypatch.setattr(cuda_graph, "_capturing_stream", lambda device: "a stream for that")
    monkeypatch.setattr(cuda_graph.cuda, "get_current_device", lambda: SimpleNamespace(id=0))
    variant = SimpleNamespace(launch=lambda *arguments: done.append("launch"))
    arrays = SimpleNamespace(image=None, out=None)
    launch = RepeatedLaunch(variant, arrays, "stream")
    before = LAUNCHES_BEFORE_GRAPH
    for _ in range(before + 3):
        launch.enqueue()
    launch.close()
    launch.close()
    assert done == ["launch"] * before + ["capture"] + ["replay"] * 3 + ["close"]


def test_that_what_cannot_be_captured_is_launched_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def refuse(*arguments: object) -> None:
        tried.append(1)
        raise ValueError("not here")

    monkeypatch.setattr(cuda_graph, "LaunchGraph", refuse)
    monkeypatch.setattr(cuda_graph, "_capturing_stream", lambda device: "a stream for that")
    monkeypatch.setattr(cuda_graph.cuda, "get_current_device", lambda: SimpleNamespace(id=0))
    done: list[str] = []
    variant = SimpleNamespace(launch=lambda *arguments: done.append("launch"))
    launch = RepeatedLaunch(variant, SimpleNamespace(image=None, out=None), "stream")
    for _ in range(LAUNCHES_BEFORE_GRAPH + 3):
        launch.enqueue()
    launch.close()
    assert (len(done), len(tried)) == (LAUNCHES_BEFORE_GRAPH + 3, 1)
