"""The figures of the documents, made from the kept results; `test_documents` compares the tables."""

import pytest

from bench.document import kept_figures


@pytest.mark.slow
def test_that_a_figure_is_the_same_each_time_with_words_as_text():
    for figure in kept_figures():
        svg = figure.svg()
        assert b"<text" in svg, figure.path
        # The same results give the same file.
        assert b"<dc:date>" not in svg, figure.path
