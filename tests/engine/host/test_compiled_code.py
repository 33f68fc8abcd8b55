"""A host whose compiled code cannot be kept: it works, and tells once."""

from pathlib import Path

import pytest

from engine.errors import CodeNotKept
from engine.host.client import EngineClient
from engine.host.protocol import Filtered, FilterJob, OpenPicture, Preview
from engine.mask.mask import Mask
from tests.engine.host.conftest import PATIENCE_S


def test_that_a_preview_comes_where_code_cannot_be_kept_and_that_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    told: list[CodeNotKept] = []
    client = EngineClient(on_notice=told.append)
    try:
        picture = client.submit(OpenPicture(sample="camera")).result(PATIENCE_S)
        job = FilterJob(picture=picture, mask=Mask([[1.0, 2.0]]), variant="cpu-serial", device="cpu")
        shown = client.submit(Preview(job)).result(PATIENCE_S)
    finally:
        client.shutdown()
    assert isinstance(shown, Filtered)
    (warning,) = told
    assert str(tmp_path / "cache") in warning.what
