"""Sessions and preferences that cannot be read: one error in words, or the defaults."""

import pytest

from gui.explore.session_file import SessionError, load_session
from gui.shell.preferences import Preferences, load_preferences
from tests.unreadable_files import CONTENTS, NO_FILES, made


@pytest.mark.parametrize("what", [*CONTENTS, *NO_FILES, "huge"])
def test_that_a_file_that_cannot_be_read_is_no_session_and_default_preferences(what, tmp_path):
    path = made(what, tmp_path)
    with pytest.raises(SessionError) as caught:
        load_session(path)
    assert caught.value.why
    assert caught.value.remedy
    assert load_preferences(path)[0] == Preferences()
