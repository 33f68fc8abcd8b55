import pytest

from engine.results.spreadsheet import harmless


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-a", "@sum", "\tx", "\rx", "-inf", "-1-1"])
def test_that_what_could_be_a_formula_gets_a_quote(text):
    assert harmless(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "plain", "-0.5", "+3", "-1e-5", "1=1", "a-b"])
def test_that_text_and_numbers_stay_as_they_are(text):
    assert harmless(text) == text
