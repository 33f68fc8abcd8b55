"""The network's problem, weights, drawings, oracle and bound; the digits that were held out."""

import re

import numpy as np
import pytest

from engine.errors import BadValue, EngineError
from engine.tasks.network import oracle
from engine.tasks.network.operands import (
    SHAPES,
    WEIGHTS_FILE,
    Weights,
    as_drawings,
    batch_of,
    fitted,
    held_out,
    probabilities,
    read_weights,
    trained_weights,
)
from engine.tasks.network.oracle import drawings_to_check, verify
from engine.tasks.network.problem import LAYERS, LINEAR, MAX_BATCH, WEIGHTS, ForwardPass, refuse_too_large
from tests.engine.variants.network.cases import random_weights

SMALL = ForwardPass(2)


def test_that_the_layers_have_the_reports_shapes():
    problem = ForwardPass(1)
    assert [(layer.key, layer.shape) for layer in LAYERS] == [
        ("convolution-1", (32, 24, 24)), ("pool-1", (32, 12, 12)), ("convolution-2", (64, 8, 8)),
        ("pool-2", (64, 4, 4)), ("hidden", (128,)), ("output", (10,)),
    ]  # fmt: skip
    assert (LINEAR, WEIGHTS) == (1024, 184_352)
    assert problem.multiply_adds == 24 * 24 * 25 * 32 + 8 * 8 * 800 * 64 + 1024 * 128 + 1280
    assert problem.flops == 2 * problem.multiply_adds + 4 * (32 * 144 + 64 * 16)
    assert problem.csv_columns() == {"batch": 1, "network": "28 × 28, 32, 64, 128, 10"}


def test_that_a_batch_that_cannot_be_is_refused_in_words_and_one_too_large_with_the_largest():
    for batch in (0, MAX_BATCH + 1):
        with pytest.raises(BadValue, match="a batch has 1 to"):
            ForwardPass(batch)
    refuse_too_large(ForwardPass(10_000))
    with pytest.raises(BadValue, match=r"the limit is 4.0 GiB. The largest batch is 36,\d\d\d\."):
        refuse_too_large(ForwardPass(100_000))


def plain_forward(drawings, network, dtype):
    """Return the scores of drawings by the definitions of the layers."""
    maps = drawings[:, None].astype(dtype)
    for filters in (network.convolution_1, network.convolution_2):
        windows = np.lib.stride_tricks.sliding_window_view(maps, (5, 5), axis=(2, 3))
        sums = np.einsum("bcyxpq,mcpq->bmyx", windows, filters.astype(dtype), optimize=True)
        maps = np.maximum(sums, dtype(0))
        maps = (maps[:, :, ::2, ::2] + maps[:, :, 1::2, ::2]) + (
            maps[:, :, ::2, 1::2] + maps[:, :, 1::2, 1::2]
        )
        maps *= dtype(0.25)
    values = np.maximum(maps.reshape(len(maps), -1) @ network.hidden.astype(dtype), dtype(0))
    return values @ network.output.astype(dtype)


def test_that_the_oracle_is_the_definition_of_every_layer():
    drawings, network = batch_of(SMALL, 3), random_weights(1)
    layers = oracle.forward_with_bounds(drawings, network)
    assert {key: exact.values.shape[1:] for key, exact in layers.items()} == {
        layer.key: layer.shape for layer in LAYERS
    }
    wanted = plain_forward(drawings, network, np.float64)
    assert np.allclose(layers["output"].values, wanted, rtol=1e-12)


@pytest.mark.slow
def test_that_the_bound_holds_for_float32_in_any_order_of_the_sums():
    drawings = batch_of(ForwardPass(3), 3)
    for network, most in ((random_weights(1), 0.01), (trained_weights(), 0.02)):
        found = oracle.forward_with_bounds(drawings, network)
        assert all((exact.bounds > 0).all() for exact in found.values())
        scores = found["output"]
        # A shorter chain of roundings has a smaller bound.
        shorter = oracle.forward_with_bounds(drawings, network, lambda terms: 5)["output"]
        assert (shorter.bounds < scores.bounds).all()
        # Every sum in another order than the oracle's.
        error = np.abs(plain_forward(drawings, network, np.float32) - scores.values)
        assert (error <= scores.bounds).all()
        assert error.max() > 0
        assert scores.bounds.max() < most
    # A map that is left out of the sums of one of 64 others is found.
    without = network.convolution_2.copy()
    without[5, 7] = 0
    other = Weights(network.convolution_1, without, network.hidden, network.output)
    changed = plain_forward(drawings, other, np.float32)
    assert not (np.abs(changed - scores.values) <= scores.bounds).all()


def test_that_a_score_beyond_its_bound_is_named_with_its_drawing():
    drawings, network = batch_of(SMALL, 3), random_weights(1)
    scores = oracle.forward_with_bounds(drawings, network)["output"].values.astype(np.float32)
    assert verify(scores, drawings, network, SMALL).exact
    scores[1, 2] += 1
    found = verify(scores, drawings, network, SMALL)
    assert not found.passed
    assert found.reason.startswith("not verified: drawing 1, output 2 is ")
    # Any layer can be compared.
    maps = oracle.forward_with_bounds(drawings, network)["pool-1"].values.astype(np.float32)
    assert verify(maps, drawings, network, SMALL, layer="pool-1").exact


def test_that_both_ends_of_a_large_batch_are_checked():
    problem = ForwardPass(10_000)
    chosen = drawings_to_check(problem, 5)
    assert chosen[:32].tolist() == list(range(32))
    assert chosen[-32:].tolist() == list(range(9_968, 10_000))
    assert len(set(chosen.tolist())) == len(chosen) > 150
    assert len(drawings_to_check(problem, 5, affordable=0)) == 64
    assert len(drawings_to_check(ForwardPass(50), 5, affordable=0)) == 50


@pytest.mark.slow
def test_that_the_held_out_digits_are_classified_as_the_documents_say():
    digits = held_out()
    assert digits.pixels.shape == (360, 28, 28)
    drawings = as_drawings(digits.pixels)
    scores = plain_forward(drawings, trained_weights(), np.float32)
    assert int((scores.argmax(axis=1) == digits.labels).sum()) == 355
    document = (WEIGHTS_FILE.parents[2] / "docs" / "network.md").read_text(encoding="utf-8")
    assert re.search(r"\*\*355 are\s+classified correctly \(98\.6 %\)\*\*", document)
    # Two scores of a digit lie so far apart that rounding, of 0.02 at most, cannot change what is predicted.
    top = np.sort(scores, axis=1)
    assert (top[:, -1] - top[:, -2]).min() > 0.1


def saved(folder, change):
    """Save the program's weights with a change; return the file."""
    own = trained_weights()
    arrays = {name: getattr(own, name).copy() for name in own.__dataclass_fields__}
    change(arrays)
    path = folder / "own.npz"
    np.savez(path, **arrays)
    return path


def test_that_weights_are_read_back_with_a_digest_of_their_numbers_and_others_refused(tmp_path):
    path = saved(tmp_path, lambda arrays: None)
    assert read_weights(path).digest == trained_weights().digest
    other = saved(tmp_path, lambda arrays: arrays["output"].__setitem__((0, 0), 7))
    assert read_weights(other).digest != trained_weights().digest
    for output, why in [
        (np.full((128, 10), np.nan, np.float32), r"output\[0, 0\] is nan, not a finite number"),
        (np.zeros((128, 10), np.int32), "output has numbers of type int32"),
    ]:
        with pytest.raises(BadValue, match=why):
            read_weights(saved(tmp_path, lambda arrays, output=output: arrays.update(output=output)))


def test_that_a_damaged_file_or_one_with_objects_is_told(tmp_path):
    content = WEIGHTS_FILE.read_bytes()
    damaged = tmp_path / "damaged.npz"
    for part in (b"", b"no archive at all", content[: len(content) // 2], content[:-1000]):
        damaged.write_bytes(part)
        with pytest.raises(EngineError, match="cannot be used: it is damaged or no"):
            read_weights(damaged)
    flipped = bytearray(content)
    for at in range(len(content) // 2, len(content) // 2 + 64):
        flipped[at] ^= 0xFF
    damaged.write_bytes(bytes(flipped))
    with pytest.raises(EngineError, match="damaged"):
        read_weights(damaged)
    np.savez(damaged, other=np.zeros(3))
    with pytest.raises(EngineError, match="it has no array 'convolution_1'"):
        read_weights(damaged)
    path = tmp_path / "objects.npz"
    np.savez(path, **{name: np.array([print], object) for name in SHAPES})
    with pytest.raises(EngineError, match="damaged"):
        read_weights(path)


def test_that_a_small_file_that_unpacks_to_too_much_is_refused_before_that(tmp_path, monkeypatch):
    path = tmp_path / "large.npz"
    np.savez_compressed(path, **{name: np.zeros(50_000, np.float32) for name in SHAPES})
    monkeypatch.setattr("engine.tasks.network.operands.MOST_FILE_BYTES", 300_000)
    monkeypatch.setattr(np, "load", lambda *given, **more: pytest.fail("it was unpacked"))
    assert path.stat().st_size < 10_000
    with pytest.raises(EngineError, match=r"it has 800,\d\d\d bytes, and such a file has at most 300,000"):
        read_weights(path)


def test_that_drawings_that_are_none_are_refused_in_words():
    for values, why in [
        (np.zeros((28, 28)), "the drawing is empty: there is no ink"),
        (np.stack([np.ones((28, 28)), np.zeros((28, 28))]), "drawing 1 of 2 is empty"),
        (np.ones((27, 28)), "the network takes 28 × 28"),
        (np.ones(28), "the network takes 28 × 28"),
        (np.ones((0, 28, 28)), "there is nothing to compute"),
        (np.full((28, 28), np.nan), "not finite"),
        (np.ones((28, 28), complex), "only real numbers"),
        (np.full((28, 28), 255.0), "from 255 to 255: ink of type float64 goes from 0, paper, to 1. Scale"),
        (np.full((28, 28), 1e300), "goes from 0, paper, to 1"),
        (np.full((28, 28), -0.5), "from -0.5 to -0.5: ink"),
        (np.full((28, 28), 300, np.int32), "from 300 to 300: ink of type int32 goes from 0, paper, to 255"),
        ([[1, 2], [3]], "rows differ in length"),
    ]:
        with pytest.raises(BadValue, match=why):
            as_drawings(values)


def test_that_only_ink_of_bytes_is_scaled():
    one = np.zeros((28, 28), np.uint8)
    one[3, 4] = 255
    assert as_drawings(one)[0, 3, 4] == 1.0
    assert as_drawings(one / 510.0)[0, 3, 4] == 0.5
    assert as_drawings(one > 0)[0, 3, 4] == 1.0
    batch = batch_of(ForwardPass(400), 2)
    assert batch.shape == (400, 28, 28)
    assert np.array_equal(batch[0], batch[360])


def test_that_a_drawing_is_fitted_to_the_field():
    digits = held_out().pixels
    assert all(np.array_equal(fitted(one), one) for one in digits[:50])
    ink = np.zeros((28, 28), np.uint8)
    assert np.array_equal(fitted(ink), ink)
    ink[3:13, 15:19] = 255
    found = fitted(ink)
    assert (found.max(axis=1) >= 64).all()
    # Four columns of ten rows, enlarged 3.1 times, in the middle, with soft edges.
    assert np.array_equal(found, found[:, ::-1])
    assert np.flatnonzero(found.max(axis=0) >= 64).tolist() == list(range(6, 22))
    wide = fitted(ink.T)
    assert np.array_equal(wide, wide[::-1])
    assert np.flatnonzero(wide.max(axis=0) >= 64).tolist() == list(range(28))


def test_that_probabilities_sum_to_one():
    chances = probabilities(np.array([[1000.0, 0.0, -1000.0], [1.0, 1.0, 1.0]], np.float32))
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert np.allclose(chances[1], 1 / 3)
    with pytest.raises(BadValue, match="the scores of drawing 1 are not finite: with weights so large"):
        probabilities(np.array([[1.0, 2.0], [np.inf, 1.0]], np.float32))
