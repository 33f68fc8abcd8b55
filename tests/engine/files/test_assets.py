"""A file that came with the program and is missing or damaged is reported in words."""

import pytest

from engine.course import papers
from engine.errors import EngineError
from engine.mask import presets

BAD_PRESETS = '{"presets": [{}]}', '{"presets": 3}', '{"presets": [{"key": "a", "weights": [["x"]]}]}'
BAD_PAPERS = "papers = 3", "[[papers]]\nkernels = []", "[[papers]]\nkernels = [1]"


@pytest.mark.parametrize(
    ("module", "file", "read", "text"),
    [
        *(
            (presets, "PRESETS_FILE", presets.presets.__wrapped__, text)
            for text in (None, "", "{}", *BAD_PRESETS)
        ),
        *((papers, "PAPERS_FILE", papers.read_papers, text) for text in (None, "", "{}", *BAD_PAPERS)),
    ],
)
def test_that_a_damaged_list_is_reported_in_words(monkeypatch, tmp_path, module, file, read, text):
    path = tmp_path / "list"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(module, file, path)
    with pytest.raises(EngineError, match=r"'list' cannot be read.*Install the program again"):
        read()
