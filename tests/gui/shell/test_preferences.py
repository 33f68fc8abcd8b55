import json

import pytest

from engine.errors import FileWriteError
from gui.shell.preferences import Preferences, default_path, load_preferences, save_preferences


def test_that_without_a_file_the_defaults_hold_and_nothing_is_said(tmp_path):
    assert load_preferences(tmp_path / "none.json") == (Preferences(), "")


def test_that_preferences_come_back_as_they_were_saved(tmp_path):
    path = tmp_path / "made" / "preferences.json"
    kept = Preferences("dark", "00ff", {"explore": "a1b2"}, "/home", {"explore": {"block": False}})
    save_preferences(path, kept)
    assert load_preferences(path) == (kept, "")
    assert json.loads(path.read_text())["version"] == 1


def test_that_a_file_from_before_columns_were_kept_goes_on_working(tmp_path):
    path = tmp_path / "preferences.json"
    path.write_text('{"version": 1, "theme": "dark", "layouts": {"explore": "00"}, "last_folder": "/home"}')
    assert load_preferences(path) == (Preferences("dark", "", {"explore": "00"}, "/home"), "")


@pytest.mark.parametrize(
    "text",
    [
        "", "not json", "[]", '{"version": 2}', '{"version": 1, "theme": "pink"}',
        '{"version": 1, "geometry": "xyz"}', '{"version": 1, "geometry": 3}',
        '{"version": 1, "layouts": ["00"]}', '{"version": 1, "layouts": {"explore": null}}',
        '{"version": 1, "columns": ["block"]}', '{"version": 1, "columns": {"explore": {"block": 1}}}',
        '{"version": 1, "last_folder": 1}', '{"version": 1, "theme": "dark", "theme": "light"}',
    ],
)  # fmt: skip
def test_that_a_bad_file_is_kept_as_bak_and_told_once(tmp_path, text):
    path = tmp_path / "preferences.json"
    path.write_text(text)
    preferences, notice = load_preferences(path)
    assert preferences == Preferences()
    assert str(path.with_suffix(".json.bak")) in notice
    assert path.with_suffix(".json.bak").read_text() == text
    assert load_preferences(path) == (Preferences(), "")


def test_that_a_place_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileWriteError):
        save_preferences(tmp_path / "file" / "p.json", Preferences())


def test_that_tests_do_not_use_the_preferences_of_the_person(tmp_path_factory):
    assert default_path().is_relative_to(tmp_path_factory.getbasetemp())
