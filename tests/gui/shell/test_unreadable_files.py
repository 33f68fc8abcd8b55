"""Sessions and preferences that cannot be read: one error in words, or the defaults."""

import pytest

from gui.explore.session_file import SessionError, load_session
from gui.shell.preferences import Preferences, load_preferences
from tests.unreadable_files import CONTENTS, NO_FILES, made


@pytest.mark.parametrize("what", [*CONTENTS, *NO_FILES, "huge"])
def test_that_a_session_that_cannot_be_read_is_one_error_in_words(what, tmp_path):
    with pytest.raises(SessionError) as caught:
        load_session(made(what, tmp_path))
    assert caught.value.why
    assert caught.value.remedy


@pytest.mark.parametrize("what", [*CONTENTS, *NO_FILES, "huge"])
def test_that_preferences_that_cannot_be_read_are_the_defaults(what, tmp_path):
    assert load_preferences(made(what, tmp_path))[0] == Preferences()
