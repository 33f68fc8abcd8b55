"""What is left when a side, or the line, ends: nothing; and work goes on after it."""

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.errors import EngineError, HostLost, LineLost
from engine.host.protocol import OpenPicture
from engine.host.request import Preview, Run, Seen, segments_of
from engine.image.picture import Picture
from engine.image.save import save_image
from engine.mask.generators import generate
from engine.mask.presets import preset
from engine.remote.ssh import RemoteServer
from tests.engine.remote.conftest import children_of, is_alive, prefixes_of, segments
from tests.engine.remote.sshd import PATIENCE_S, PYTHON, wait_until
from tests.picture_jobs import mask_job, operation_job

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SEEN = Seen(0, (0, 200), (0, 200))


class Session:
    """A client with a server, at work, and the processes of both sides."""

    def __init__(self, asking, sshd, options):
        others = set(children_of(sshd.process.pid))
        self.asking = asking(RemoteServer(sshd.to, PYTHON, options))
        assert self.asking.ready.wait(PATIENCE_S)
        self.picture = self.asking.picture()
        self.job = mask_job(mask=preset("sobel-x"), picture=self.picture, variant="cpu-serial")
        self.preview = self.asking.ask(Preview(self.job, SEEN))
        there = {pid: args for pid, args in children_of(sshd.process.pid).items() if pid not in others}
        here = children_of(self.asking.client.host_pid)
        self.relay = self.asking.client.host_pid
        self.ssh = next(pid for pid, args in here.items() if args.startswith("ssh "))
        programs = [
            pid for pid, args in there.items() if ".remote.server" in args and "-m engine.host" not in args
        ]
        # The shell that sshd starts has the same words.
        self.server = max(programs)
        below = children_of(self.server).items()
        self.host = next(pid for pid, args in below if "-m engine.host" in args)
        self.there = set(there)
        self.prefixes = prefixes_of([self.relay, self.server, self.host])
        self.here = set(here)


@pytest.fixture
def session(asking, sshd):
    return lambda options=None: Session(asking, sshd, options or sshd.options())


def assert_that_its_kill_leaves_nothing_on_the_other_side(made, killed):
    running = made.asking.client.submit(Run(made.job, 60.0))
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not any(is_alive(pid) for pid in made.there | made.here))
    with pytest.raises(LineLost, match="connection"):
        running.result(PATIENCE_S)
    assert made.asking.lost.wait(PATIENCE_S)
    # What the window shows stays: the picture, and the tiles that have come.
    kept = {*segments_of(made.picture), *segments_of(made.preview)}
    wait_until(lambda: segments(made.prefixes) == kept)


def folder_of(server):
    """Return the folder that a server holds: those of tests beside this one come and go."""
    opened = [Path(os.readlink(one)) for one in Path(f"/proc/{server}/fd").iterdir()]
    return next(path.parent for path in opened if path.parent.name.startswith("haloscope-server-"))


def test_that_the_next_start_clears_what_killed_programs_have_left_and_a_killed_side_leaves_nothing(
    session, tmp_path
):
    living, made = session(), session()
    held, left = folder_of(living.server), folder_of(made.server)
    patch = tmp_path / "patch.png"
    save_image(Picture(np.arange(243, dtype=np.uint8).reshape(9, 9, 3)), patch)
    how = {"operation": "find-patch", "settings": {}, "patch_path": str(patch)}
    made.asking.ask(Preview(operation_job(picture=made.picture, **how)))
    assert any(left.rglob("patch.png"))
    prefixes = prefixes_of([made.server, made.host])
    # With the process that Python has to clear shared memory: as when memory is short, or a session is ended.
    for pid in children_of(made.server):
        os.kill(pid, signal.SIGKILL)
    assert made.asking.lost.wait(PATIENCE_S)
    newest = session()
    wait_until(lambda: not left.exists())
    wait_until(lambda: not segments(prefixes))
    assert held.exists()
    again = living.asking.ask(Preview(living.job, SEEN))
    assert again.screen is not None
    living.asking.client.release(*segments_of(again))
    assert_that_its_kill_leaves_nothing_on_the_other_side(living, living.relay)
    assert_that_its_kill_leaves_nothing_on_the_other_side(newest, newest.server)


def bytes_of(pid):
    """Return how many bytes a process has received and sent."""
    return [int(line.split()[1]) for line in Path(f"/proc/{pid}/io").read_text().splitlines()[:2]]


def test_that_an_unwanted_transfer_does_not_hold_a_slow_line_whose_cut_is_noticed_without_a_word(
    session, sshd, tmp_path
):
    cut = tmp_path / "cut"
    made = session(sshd.shaped(5, 4, str(cut)))
    client = made.asking.client
    before, _ = bytes_of(made.relay)
    whole = client.submit(Preview(made.job))
    client.cancel(whole)
    assert client.submit(Preview(made.job, SEEN)).result(PATIENCE_S).screen is not None
    # All values and levels are 8 MB, 16 s on this line.
    assert bytes_of(made.relay)[0] - before < 4_000_000
    with pytest.raises(EngineError):
        whole.result(PATIENCE_S)

    running = client.submit(Run(made.job, 60.0))
    cut.touch()
    with pytest.raises(LineLost, match="nothing was heard for 8 s"):
        running.result(PATIENCE_S)
    wait_until(lambda: not any(is_alive(pid) for pid in (made.server, made.host, made.relay, made.ssh)))
    # Local work goes on beside it: a picture can be opened at once.
    cut.unlink()
    assert made.asking.ask(OpenPicture(sample="camera")).width == 512


def test_that_work_goes_on_after_what_ends_and_the_end_of_the_client_is_that_of_both_sides(session, sshd):
    others = set(children_of(sshd.process.pid))
    made = session()
    _, sent = bytes_of(made.relay)
    for name in ("one", "two", "three"):
        made.asking.ask(Preview(mask_job(mask=preset("box-3").with_name(name), picture=made.picture), SEEN))
    again = made.asking.picture()
    made.asking.ask(Preview(mask_job(mask=preset("box-3"), picture=again), SEEN))
    # The picture has 786,432 bytes, and crosses once.
    assert bytes_of(made.relay)[1] - sent < 100_000

    begun = threading.Event()
    # With a small mask it could end by itself before it is killed.
    slow = made.job.changed(mask=generate("gaussian:31:6"))

    def heard(step):
        # What is reported here, while it waits for the server, is no step of the host: one that is not begun
        # goes to its successor.
        if step.stage not in ("waiting for the server", "sending the picture"):
            begun.set()

    running = made.asking.client.submit(Run(slow, 60.0), heard)
    assert begun.wait(PATIENCE_S)
    os.kill(made.host, signal.SIGKILL)
    with pytest.raises(HostLost, match="was killed"):
        running.result(PATIENCE_S)
    # The line stays, and a successor answers.
    assert made.asking.ask(Preview(made.job, SEEN)).screen is not None
    assert not made.asking.lost.is_set()

    os.kill(made.ssh, signal.SIGKILL)
    assert made.asking.lost.wait(PATIENCE_S)
    wait_until(lambda: not any(is_alive(pid) for pid in made.there | made.here))
    # No password is asked for again before the next request.
    assert made.asking.client.host_pid is None
    made.asking.ready.clear()
    made.asking.client.connect(made.asking.client.remote)
    assert made.asking.ready.wait(PATIENCE_S)
    assert made.asking.ask(Preview(made.job, SEEN)).screen is not None

    here = set(children_of(made.asking.client.host_pid))
    there = set(children_of(sshd.process.pid)) - others
    prefixes = made.prefixes | prefixes_of([made.asking.client.host_pid])
    made.asking.client.shutdown()
    wait_until(lambda: not any(is_alive(pid) for pid in made.there | made.here | here | there))
    wait_until(lambda: not segments(prefixes))
