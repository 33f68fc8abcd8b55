"""What the host answers about the network: facts, one drawing, runs, what cannot run, held-out digits."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine.errors import BadValue, Cancelled, DeviceFault, EngineError, OutOfDeviceMemory
from engine.host import shared
from engine.host.request import Check, Preview, QueuePolicy, Run, SharedArray, segments_of
from engine.host.request import answer as answer_to
from engine.run.task import Job
from engine.tasks.network import oracle
from engine.tasks.network import stages as network
from engine.tasks.network.operands import WEIGHTS_FILE, as_drawings, held_out, trained_weights
from engine.tasks.network.problem import LAYERS, DigitsRequest, DrawingRequest, NetworkRequest, StageRequest
from engine.tasks.network.task import NETWORK_VARIANTS


def answered(request, report=lambda step: None):
    """Return a handler's answer, and give its shared memory back."""
    answer = answer_to(request, report)
    own = [getattr(answer, name) for name in getattr(answer, "__struct_fields__", ())]
    places = (*own, *(getattr(one, "values", None) for one in getattr(answer, "layers", ())))
    arrays = {one: shared.attach(one).copy() for one in places if isinstance(one, SharedArray)}
    shared.recycle(*segments_of(answer))
    return answer, arrays


def test_that_the_facts_have_layers_stages_filters_and_digits():
    facts, arrays = answered(NetworkRequest())
    assert [layer.key for layer in facts.layers] == [layer.key for layer in LAYERS]
    assert [stage.key for stage in facts.stages] == [stage.key for stage in NETWORK_VARIANTS]
    assert np.array_equal(arrays[facts.first_filters], trained_weights().convolution_1)
    assert np.array_equal(arrays[facts.second_filters], trained_weights().convolution_2)
    assert np.array_equal(arrays[facts.digits], held_out().pixels)
    assert facts.labels == tuple(held_out().labels.tolist())


@pytest.mark.slow
def test_that_a_drawing_gets_every_layer_as_the_oracle_has_it():
    pixels = held_out().pixels[3]
    assert Preview(DrawingRequest(b"")).queue is QueuePolicy.NEWEST
    found, arrays = answered(Preview(DrawingRequest(pixels.tobytes())))
    wanted = oracle.forward_with_bounds(as_drawings(pixels), trained_weights())
    assert [one.layer.key for one in found.layers] == list(wanted)
    for one in found.layers:
        exact = wanted[one.layer.key]
        values = arrays[one.values]
        assert values.shape == one.layer.shape
        assert (np.abs(values - exact.values[0]) <= exact.bounds[0]).all()
    assert sum(found.probabilities) == pytest.approx(1.0)
    assert found.digit == held_out().labels[3] == int(np.argmax(found.probabilities))
    assert found.elapsed_ms > 0


@pytest.mark.slow
def test_that_the_time_of_a_drawing_has_no_compiling_in_it(monkeypatch):
    clock_s = [0.0]
    prepare = Job.prepare

    def prepare_in_a_second(job):
        clock_s[0] += 1.0
        return prepare(job)

    monkeypatch.setattr(Job, "prepare", prepare_in_a_second)
    monkeypatch.setattr(network, "time", SimpleNamespace(perf_counter=lambda: clock_s[0]))
    found, _ = answered(Preview(DrawingRequest(held_out().pixels[3].tobytes())))
    assert clock_s == [1.0]
    assert found.elapsed_ms == 0.0


@pytest.mark.slow
def test_that_a_run_has_the_times_of_its_layers():
    steps = []
    found, _ = answered(
        Run(StageRequest("network-cpu", 5), budget_s=0.0), lambda step: steps.append(step.stage)
    )
    assert found.result.is_proven
    assert found.result.problem.batch == 5
    assert [one.name for one in found.layers] == [
        "convolution-1 + pool-1", "convolution-2 + pool-2", "hidden + output"
    ]  # fmt: skip
    assert found.timeline == ()
    assert "timing each layer" in steps


def test_that_the_timing_of_layers_is_expected_to_take_as_long_as_passes_do(monkeypatch):
    """network-serial takes 40 s for 10,000 drawings: what is silent for too long is ended."""
    outcome = SimpleNamespace(values=np.zeros(1), result=SimpleNamespace(kernel_ms=40_000.0), error=None)
    monkeypatch.setattr(network, "measure", lambda *given, **more: outcome)
    monkeypatch.setattr(network, "layer_times", lambda job, machine: ((), ()))
    steps = []
    answered(Run(StageRequest("network-serial", 1)), steps.append)
    assert steps[-1].stage == "timing each layer"
    assert steps[-1].expected_s >= 80.0


@pytest.mark.parametrize("kind", [DeviceFault, OutOfDeviceMemory])
def test_that_a_device_that_is_lost_while_layers_are_timed_is_no_mere_note(monkeypatch, kind):
    def fail(job, machine):
        raise kind("The GPU failed", "it is gone", "Run again.")

    monkeypatch.setattr(network, "layer_times", fail)
    request = Run(StageRequest("network-cpu", 1), budget_s=0.0)
    if kind is DeviceFault:
        with pytest.raises(DeviceFault):
            answered(request)
    else:
        found, _ = answered(request)
        assert found.result.is_proven
        assert found.layers == ()


def test_that_a_run_can_be_stopped():
    def stop(step):
        raise Cancelled("The request", "it was stopped")

    with pytest.raises(Cancelled):
        answered(Run(StageRequest("network-cpu", 5)), stop)
    with pytest.raises(BadValue, match="a batch has 1 to"):
        answered(Run(StageRequest("network-cpu", 0)))
    with pytest.raises(BadValue, match="The largest batch is"):
        answered(Run(StageRequest("network-cpu", 1_000_000)))


def test_that_every_stage_says_whether_it_can_compute_a_batch():
    assert Check(StageRequest()).queue is QueuePolicy.AT_ONCE
    found, _ = answered(Check(StageRequest(batch=100, device="cpu")))
    reasons = {one.variant: str(one.reason or "") for one in found}
    assert list(reasons) == [stage.key for stage in NETWORK_VARIANTS]
    assert reasons["network-cpu"] == reasons["network-serial"] == ""
    assert "CUDA" in reasons["network-fast"]
    too_large, _ = answered(Check(StageRequest(batch=1_000_000, device="cpu")))
    assert all("the limit is" in str(one.reason) for one in too_large)


def test_that_the_held_out_digits_are_told_with_what_each_is_taken_for():
    found, _ = answered(DigitsRequest("network-cpu", "cpu"))
    assert found.accuracy == 355 / 360
    assert found.digits == 360
    assert len(found.wrong) == 5
    assert [sum(row) for row in found.counts] == np.bincount(held_out().labels, minlength=10).tolist()


INK = held_out().pixels[8].tobytes()


def weights_file(path, **changed):
    """Write the trained weights with some of them changed."""
    with np.load(WEIGHTS_FILE) as stored:
        arrays = {name: stored[name] for name in stored.files}
    np.savez(path, **(arrays | changed))
    return str(path)


def test_that_the_weights_of_a_file_are_those_that_tell_the_digit(tmp_path):
    output = np.zeros((128, 10), np.float16)
    output[:, 3] = 1.0
    path = weights_file(tmp_path / "threes.npz", output=output)
    for weights, digit in (("", 8), (path, 3)):
        assert answered(Preview(DrawingRequest(INK, weights)))[0].digit == digit
    facts, arrays = answered(NetworkRequest(path))
    assert np.array_equal(arrays[facts.output_weights], output)
    assert np.array_equal(arrays[facts.hidden_weights], trained_weights().hidden)


def test_that_weights_whose_scores_overflow_leave_no_shared_memory(tmp_path, monkeypatch):
    path = weights_file(tmp_path / "huge.npz", output=np.full((128, 10), 3e38, np.float32))
    monkeypatch.setattr(shared, "create", lambda *arrays: pytest.fail("memory was taken"))
    with pytest.raises(EngineError, match="the scores of drawing 0 are not finite"):
        answered(Preview(DrawingRequest(INK, path)))


def test_that_bad_weights_are_refused_in_a_sentence_by_every_request(tmp_path):
    path = weights_file(tmp_path / "bad.npz", output=np.zeros((128, 9), np.float32))
    for request in (
        NetworkRequest(path),
        Preview(DrawingRequest(INK, path)),
        Run(StageRequest("network-serial", 1, weights=path)),
        DigitsRequest("network-serial", weights=path),
    ):
        with pytest.raises(EngineError, match=r"The weights 'bad\.npz' cannot be used") as error:
            answered(request)
        assert "output has the shape 128 × 9, and this network needs 128 × 10" in str(error.value)
        assert error.value.remedy
        assert "\n" not in str(error.value)
