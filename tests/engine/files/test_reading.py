"""Every reader of text and JSON: whatever a file is, it is one error in words, at once."""

import gzip

import pytest

from engine.errors import EngineError
from engine.files import reading
from engine.image.large.result import PartDamaged, PartFolder
from engine.mask.presets import resolve_mask
from engine.mask.text import load_mask
from engine.results import columns as export
from engine.tasks.network.operands import read_weights
from engine.tasks.read_results import results_in_file
from engine.work.chain_files import chain_named, load_chain
from tests.unreadable_files import CONTENTS, NO_FILES, made

READERS = {
    "mask": load_mask,
    "mask by name": lambda path: resolve_mask(str(path)),
    "chain": load_chain,
    "chain by name": lambda path: chain_named(str(path)),
    "results": lambda path: results_in_file(str(path)),
    "weights": read_weights,
    "json": lambda path: reading.read_json(path, 1 << 20),
}


@pytest.mark.parametrize("what", [*CONTENTS, *NO_FILES])
def test_that_what_cannot_be_read_is_one_error_in_words(what, tmp_path):
    path = made(what, tmp_path)
    for read in READERS.values():
        with pytest.raises(EngineError) as caught:
            read(path)
        assert caught.value.what
        assert caught.value.why
        assert caught.value.remedy


def test_that_a_huge_file_is_not_read(tmp_path):
    for reader in [name for name in READERS if name != "results"]:
        with pytest.raises(EngineError):
            READERS[reader](made("huge", tmp_path))


def test_that_a_journal_that_cannot_be_read_is_damage(tmp_path):
    for what in CONTENTS:
        part = PartFolder(str(tmp_path / "out.npy"))
        part.begin()
        (part.folder / "journal.json").write_bytes(CONTENTS[what])
        with pytest.raises(PartDamaged):
            part.done_by({})
        part.remove()


@pytest.mark.parametrize("what", ["not utf-8", "nested", "nothing", "null", "cut short", "only zeros"])
def test_that_a_damaged_recording_says_that_it_came_with_the_program(what, tmp_path, monkeypatch):
    path = tmp_path / "runs.json.gz"
    monkeypatch.setattr(export, "recorded_path", lambda _: path)
    packed = gzip.compress(CONTENTS[what])
    for data in (CONTENTS[what], packed, packed[:-5], packed[:15] + b"\xff" + packed[16:]):
        path.write_bytes(data)
        export.recorded_document.cache_clear()
        with pytest.raises(EngineError) as caught:
            export.recorded_document("runs")
        assert "Install the program again" in caught.value.remedy
    export.recorded_document.cache_clear()
