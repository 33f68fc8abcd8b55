from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from gui.engine_link.engine_start import FirstPicture
from gui.page.intents import Begin


def test_that_a_session_brings_picture_mask_and_settings_back(bench, tmp_path):
    mask = Mask([[1, 0.1], [-3, 2], [0, 5]], anchor=(0, 1), offset=4.5, name="Mine")
    bench.workspace.set_mask(mask)
    bench.workspace.change(border=Border.CONSTANT, cval=7.5, flip=True, block=Block(32, 8), variant="tiled")
    settings = bench.workspace.settings
    bench.sessions.save(tmp_path / "work.json")
    bench.open("other.png")
    bench.workspace.set_mask(Mask([[1]]))
    bench.workspace.change(border=Border.WRAP, flip=False, block=None, variant="auto")
    bench.sessions.open(tmp_path / "work.json")
    bench.settle()
    assert bench.workspace.picture.title == "photo.png"
    assert (bench.workspace.mask, bench.workspace.mask.name) == (mask, "Mine")
    assert bench.workspace.settings == settings


def test_that_a_session_whose_picture_is_gone_brings_the_rest(bench, tmp_path):
    bench.sessions.save(tmp_path / "work.json")
    text = (tmp_path / "work.json").read_text()
    (tmp_path / "work.json").write_text(text.replace('"sample": "photo.png"', '"sample": "missing"'))
    mask = bench.workspace.mask
    bench.workspace.set_mask(Mask([[1]]))
    bench.sessions.open(tmp_path / "work.json")
    bench.settle()
    assert bench.workspace.mask == mask
    assert bench.messages.newest.what == "missing cannot be opened"


def test_that_a_picture_given_beside_a_session_stays(bench, tmp_path):
    bench.workspace.change(border=Border.WRAP)
    bench.sessions.save(tmp_path / "work.json")
    bench.workspace.change(border=Border.ZERO)
    bench.open("other.png")
    bench.sessions.begin(Begin(FirstPicture(None, None), str(tmp_path / "work.json")))
    bench.settle()
    assert bench.workspace.picture.title == "other.png"
    assert bench.workspace.settings.border is Border.WRAP


def test_that_a_session_that_cannot_be_written_is_reported(bench, tmp_path):
    bench.sessions.save(tmp_path / "no" / "such" / "folder.json")
    assert "folder does not exist" in bench.messages.newest.why
