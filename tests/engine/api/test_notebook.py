"""How results and plans look in a notebook."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import engine
from engine.results.text_forms import html_table

IMAGE = np.random.default_rng(4).integers(0, 256, (40, 30), np.uint8)


class Cells(HTMLParser):
    """The rows of a table, each a list of texts, and the tags with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, attributes))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.rows[-1][-1] += data


def rows_of(shown):
    return Cells(shown._repr_html_()).rows


@pytest.fixture(scope="module")
def applied():
    return engine.apply(IMAGE, "gaussian:3:1", device="cpu", budget_s=0.01)


def test_that_a_result_says_what_it_ran_as_whether_it_is_right_and_how_fast(applied):
    result, rows = applied.result, dict(rows_of(applied.result))
    assert list(rows) == ["Variant", "Device", "Verification", "Kernel", "End to end", "Reason"]
    assert (rows["Variant"], rows["Verification"]) == (result.variant, result.status)
    assert re.fullmatch(r"[\d.,]+ ms", rows["Kernel"])
    assert rows_of(applied)[0] == ["Values", "float32, 40 × 30"]
    assert dict(rows_of(replace(result, block=engine.Block(16, 8))))["Block"] == "16 × 8"


def test_that_a_bank_has_a_row_of_each_mask():
    bank = engine.apply_bank(IMAGE, ["sobel-x", "box:5"], device="cpu", budget_s=0)
    header, *rows = rows_of(bank)
    variants = [row[header.index("Variant")] for row in rows]
    assert ([row[0] for row in rows], variants) == (["1", "2"], [one.variant for one in bank.results])


def test_that_a_plan_says_what_it_takes_and_gives():
    with engine.plan(IMAGE, "sobel-x", device="cpu") as plan:
        rows = dict(rows_of(plan))
    assert (rows["Pictures"], rows["Results"]) == ("uint8, 40 × 30", "float32, 40 × 30")
    assert rows["Reason"] == plan.reason.clauses


def test_that_texts_are_never_markup():
    hostile = "<script src='//a'>&amp;\""
    assert Cells(html_table([("Reason", hostile)])).rows == [["Reason", hostile]]


def test_that_a_table_names_nothing_outside(applied):
    assert all(not attributes for _, attributes in Cells(applied._repr_html_()).tags)
