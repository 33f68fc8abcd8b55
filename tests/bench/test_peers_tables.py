import json

import pytest

from bench.document import put_between
from bench.peers.__main__ import as_text
from bench.peers.plot import svg_of
from bench.peers.summary import behind_best, limit_ms, limits_of, ratios, reasons
from bench.peers.tables import document_lines, number, table_lines
from tests.bench.made_runs import CELLS, entry, make_run, timed


def test_that_a_ratio_is_the_peers_time_over_ours():
    run = make_run()
    assert ratios(run["cells"][CELLS[0].key]) == {"opencv filter2D": 2.5}
    assert ratios(run["cells"][CELLS[1].key]) == {"opencv filter2D": 2.0, "npp filter": 0.5}
    assert ratios(entry(CELLS[0], opencv_filter2D=1.0, haloscope_auto="not verified: x")) == {}


def test_that_auto_is_compared_with_the_best_of_ours():
    assert behind_best(entry(CELLS[0], haloscope_auto=1.2, haloscope_tiled=1.0, npp_filter=0.1)) == 1.2
    assert behind_best(entry(CELLS[0], haloscope_tiled=1.0)) is None


SAMPLES = 64 * 64


@pytest.mark.parametrize(
    ("rates", "as_measured", "limit"),
    [
        ({}, False, 0.5),
        ({"multiply_adds_per_s": 25 * SAMPLES / 2e-3}, False, 2.0),
        ({"multiply_adds_per_s": 25 * SAMPLES / 2e-3, "multiply_adds_per_s_measured": 25 * SAMPLES / 2.5e-3},
         True, 2.5),
        # The bytes of a picture and its result at the bandwidth of a smaller picture's copy, where that is
        # faster.
        ({"copies": [(4 * SAMPLES, 8 * SAMPLES / 0.25e-3)]}, False, 0.25),
        ({"copies": [(4 * SAMPLES + 1, 8 * SAMPLES / 0.25e-3)]}, False, 0.5),
    ],
    ids=["copy", "rate", "measured rate", "smaller copy", "larger copy"],
)  # fmt: skip
def test_that_the_limit_is_the_copy_or_the_multiply_adds_whichever_takes_longer(rates, as_measured, limit):
    one = entry(CELLS[1], limit_copy=0.5)
    assert limit_ms(one, rates, as_measured=as_measured) == pytest.approx(limit)
    assert limit_ms(entry(CELLS[1], haloscope_auto=1.0), {}) is None


def test_that_copies_count_that_no_cache_had_a_part_in():
    run = make_run()
    picture_bytes = 4 * 64 * 64
    for notes in ({}, {"l2_bytes": picture_bytes}):
        run["libraries"]["limit"]["notes"] = notes
        assert limits_of(run)["copies"] == []
    run["libraries"]["limit"]["notes"] = {"l2_bytes": picture_bytes // 4}
    assert limits_of(run)["copies"] == [(picture_bytes, pytest.approx(2 * picture_bytes / 0.5e-3))] * 2


def test_that_a_table_has_ours_the_limit_the_peers_and_the_lead_and_a_wide_spread():
    run = make_run()
    assert table_lines(run, run["tables"][0]) == [
        "**Mask size**",
        "",
        "| mask | **auto** | limit | reached | opencv filter2D | npp filter | lead |",
        "|---|---|---|---|---|---|---|",
        "| 3 x 3 | 1.00 | 0.50 | 50% | 2.50 | - | 2.5 |",
        "| 5 x 5 | 2.00 | 0.50 | 25% | 4.00 | 1.00 | 0.5 |",
        "",
        "- `npp filter`, 3 x 3: not verified: row 0",
    ]
    run["cells"][CELLS[0].key]["contenders"]["haloscope auto"] = timed(1.0, spread=0.2)
    assert "| 3 x 3 | 1.00 (0.90 to 1.10) |" in "\n".join(table_lines(run, run["tables"][0]))


def test_that_a_document_says_who_was_not_measured_and_where_we_are_behind():
    text = "\n".join(document_lines(make_run(), "picture.svg"))
    assert "- torch: not measured: not installed (torch)" in text
    assert "ahead of every peer in 1 of 2 cells; behind: 64x64x1 float32 random 5x5" in text
    assert "npp filter is 2.00 times faster" in text
    assert "![Time against mask size](picture.svg)" in text


def test_that_a_kept_file_has_a_line_a_cell_and_reasons_name_their_cells():
    run = make_run()
    text = as_text(run)
    assert json.loads(text) == run
    assert sum("haloscope auto" in line for line in text.splitlines()) == len(run["cells"])
    entries = [run["cells"][cell.key] for cell in CELLS]
    assert reasons(entries) == {"npp filter": {"not verified: row 0": [0]}}


def test_that_three_digits_are_written():
    written = {0.5: "0.50", 9.994: "9.99", 12.34: "12.3", 123.4: "123", 45678.0: "45678"}
    assert {value: number(value) for value in written} == written


def test_that_only_what_stands_between_the_markers_is_replaced(tmp_path):
    document = tmp_path / "document.md"
    text = "before\n<!-- peers:cpu -->{}<!-- /peers:cpu -->\nafter <!-- peers:gpu --><!-- /peers:gpu -->\n"
    document.write_text(text.format("\nold\n"))
    for _ in range(2):
        put_between(document, "peers:cpu", ["new"])
        assert document.read_text() == text.format("\n\nnew\n\n")


@pytest.mark.parametrize(
    "text", ["no marker", "<!-- a -->", "<!-- /a --> <!-- a -->", "<!-- a --><!-- a --><!-- /a -->"]
)
def test_that_a_document_without_its_markers_stays_as_it_is(tmp_path, text):
    document = tmp_path / "document.md"
    document.write_text(text)
    with pytest.raises(LookupError, match="needs one"):
        put_between(document, "a", ["new"])
    assert document.read_text() == text


@pytest.mark.slow
def test_that_a_plot_has_a_line_a_contender_and_the_limit():
    run = make_run()
    svg = svg_of(run, run["tables"][0])
    for name in (b"haloscope auto", b"opencv filter2D", b"npp filter", b"limit"):
        assert name in svg
    assert b"<text" in svg
    assert b"<dc:date>" not in svg
    assert svg == svg_of(run, run["tables"][0])
