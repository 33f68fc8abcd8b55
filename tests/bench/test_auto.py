"""The table of times of `auto`: measured for one variant, the others' rows stay."""

import json
import sys
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from bench import auto, choices
from bench.auto import as_text, cost_rows, is_too_long, mask_of
from bench.choices import drawn
from engine.device.devices import backend
from engine.errors import UnknownName
from engine.mask.factors import factor
from engine.variants.fast import digit_sums
from engine.variants.mask_classes import is_box
from engine.work.filtering.planner import MANY
from engine.work.filtering.variants import variant
from engine.work.problem import Problem


def test_that_a_table_of_times_comes_back_with_a_row_a_line():
    table = {"from": 'a "quoted" [word]', "times_us": {"tiled": {"uint8 x 1": [[1.5, None], [3e-05, 4]]}}}
    text = as_text(table)
    assert json.loads(text) == table
    assert "[1.5, null],\n" in text


@pytest.fixture
def table(monkeypatch, tmp_path):
    """A table of two small pictures and one mask, with a row of `cpu-box` and one of `cpu-serial`."""
    path = tmp_path / "table.json"
    row = {"uint8 x 1": [[1.0], [2.0]]}
    rates = {"copy_gb_s": 1.0, "multiply_adds_g_s": 2.0}
    path.write_text(
        json.dumps({"from": "here", "rates": rates, "times_us": {"cpu-box": row, "cpu-serial": row}})
    )
    monkeypatch.setattr(auto, "table_path", lambda kind: path)
    monkeypatch.setattr(auto, "PICTURE_SIDES", (16, 32))
    monkeypatch.setattr(auto, "MASK_SIDES", (3,))
    monkeypatch.setattr(auto, "TYPES", (("uint8", "float32"), ("uint8", "uint8")))
    monkeypatch.setattr(auto, "CHANNELS", (1,))
    monkeypatch.setattr(auto, "SAMPLES", 1)
    return path


def measure(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["auto", "--device", "cpu", *arguments])
    auto.main()


@pytest.mark.slow
def test_that_only_the_rows_that_were_asked_for_are_measured(monkeypatch, table):
    before = json.loads(table.read_text())
    measure(monkeypatch, "--only", "cpu-serial")
    after = json.loads(table.read_text())
    assert after["times_us"]["cpu-box"] == before["times_us"]["cpu-box"]
    assert after["rates"] == before["rates"]
    assert after["from"].startswith("here; cpu-serial: ")
    kinds = after["times_us"]["cpu-serial"]
    assert kinds.keys() == {"uint8 x 1", "uint8 to uint8 x 1"}
    assert all(time > 0 for rows in kinds.values() for (time,) in rows)


def test_that_a_variant_that_does_not_exist_leaves_the_table_as_it_is(monkeypatch, table):
    before = table.read_text()
    with pytest.raises(UnknownName, match="cpu-bux"):
        measure(monkeypatch, "--only", "cpu-bux")
    assert table.read_text() == before


def test_that_masks_are_of_their_structure():
    for side in (3, 15, 31):
        assert not factor(mask_of("random", side)).separable
        assert factor(mask_of("row", side)).separable
        assert [is_box(mask_of(kind, side)) for kind in ("box", "random")] == [True, False]
        assert [np.linalg.matrix_rank(mask_of(f"rank {rank}", side).weights) for rank in (2, 3)] == [2, 3]
    repeats = [digit_sums.VARIANT.repeats_of(mask_of(kind, 5)) for kind in ("one digit", "many digits")]
    assert repeats == [1, MANY]
    assert cost_rows(digit_sums.VARIANT).keys() == {"one digit", "many digits"}


def test_that_only_what_holds_everything_up_is_left_out():
    problem = Problem(4096, 4096, 3, mask_shape=(63, 63), anchor=(31, 31))
    assert is_too_long(variant("cpu-parallel"), problem)
    assert not is_too_long(variant("cpu-box"), problem)
    assert not is_too_long(variant("cpu-separable"), problem)


class Clock:
    def __init__(self, times_ms):
        self._times_ms = iter(times_ms)

    def sample_ms(self):
        return next(self._times_ms)

    def close(self):
        pass


@pytest.mark.slow
def test_that_a_disturbed_first_sample_leaves_no_variant_out(monkeypatch):
    (draw,) = drawn(1, 1, 200)
    clocks = {"cpu-serial": Clock([1.0] * 6), "cpu-parallel": Clock([9.0, *[0.5] * 5])}
    machine = backend("cpu")
    ways = iter(clocks.values())
    monkeypatch.setattr(machine, "run", lambda prepared, buffers: None)
    monkeypatch.setattr(machine, "clock", lambda prepared, buffers: next(ways))
    pool = np.zeros(draw.problem.samples, draw.problem.dtype)
    choices.measure(draw, list(clocks), machine, pool)
    assert draw.times_ms == {"cpu-serial": 1.0, "cpu-parallel": 0.5}


def test_that_problems_and_times_come_back_from_a_file_as_they_were(tmp_path):
    draws = [replace(draw, times_ms={"naive": 1.0 + n}) for n, draw in enumerate(drawn(2, 5))]
    (tmp_path / "kept.json").write_bytes(msgspec.json.encode(draws))
    assert choices.read(tmp_path / "kept.json") == draws
    fields = "problem", "kind", "seed", "times_ms"
    assert json.loads((tmp_path / "kept.json").read_text())[0].keys() == set(fields)
