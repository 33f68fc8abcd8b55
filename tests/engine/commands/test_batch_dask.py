"""`batch --scheduler`: the same files as on one machine, whatever ends on the way."""

import itertools
import os
import platform
import signal
import subprocess
import sys
import threading
import time

import distributed
import numpy as np
import psutil
import pytest

import engine
from engine import cluster as clusters
from engine.commands import batch_loop, command_line
from engine.commands.batch_plan import PictureFile
from engine.device.device_list import cpu_chosen_as, cpu_info
from engine.errors import BadValue
from engine.image.formats import format_to_save
from engine.process import cores
from tests.engine.cluster.started import two_workers
from tests.engine.commands import worker_faults
from tests.fresh_python import ROOT

MASK = "--mask gaussian:5:1 --border mirror"
PICTURES = 24

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def workers():
    """Return a cluster that no test harms."""
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def faulty(workers):
    """Return the cluster and what gives its workers faults, which are undone at the end."""
    with distributed.Client(workers, set_as_default=False) as client:
        yield workers, client
        client.run(worker_faults.heal)


@pytest.fixture
def mortal():
    """Return a cluster whose processes a test may end, and a client of it."""
    with two_workers() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield cluster, client


@pytest.fixture
def photos(tmp_path):
    """Return a folder with small pictures of three formats, one of them broken."""
    folder = tmp_path / "photos"
    folder.mkdir()
    random = np.random.default_rng(3)
    for number, suffix in zip(range(PICTURES), itertools.cycle(("png", "tif", "jpg"))):
        engine.save_image(random.integers(0, 256, (40, 30, 3), np.uint8), folder / f"{number:02}.{suffix}")
    return folder


@pytest.fixture
def batch(command, photos, tmp_path):
    """Return a function that filters the photos into a folder, on a cluster if one is given."""

    def do(*arguments, cluster=None, out="out", status=0, inputs=None):
        where = ("--scheduler", cluster.scheduler_address) if cluster else ()
        out = out if "://" in out else tmp_path / out
        answer = command("batch", *(inputs or [photos]), "--out", out, MASK, *where, *arguments)
        assert answer.status == status, answer
        return answer

    return do


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def is_as_on_one_machine(batch, tmp_path, answer, out="out"):
    """Return whether each file was done once, and all have the bytes of one machine."""
    batch("--overwrite", out="alone")
    lines = [line for line in answer.err.splitlines() if " -> " in line]
    return (
        contents(tmp_path / out) == contents(tmp_path / "alone")
        and len(lines) == len(set(lines)) == PICTURES
        and answer.out.startswith(f"{PICTURES} of {PICTURES} ")
    )


def test_that_the_document_is_that_of_one_machine_with_the_machine_of_each_file(
    batch, workers, photos, tmp_path
):
    (photos / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    alone = batch("--json", out="alone", status=2).document
    spread = batch("--json", cluster=workers, status=2).document
    assert spread.pop("scheduler") == workers.scheduler_address
    assert spread.pop("start_s") > 0
    machines = [file.pop("machine", None) for file in spread["files"]]
    assert machines == [platform.node()] * PICTURES + [None]
    for document, folder in ((alone, "alone"), (spread, "out")):
        document.pop("elapsed_s")
        document["out"] = document["out"].replace(folder, "")
        for file in document["files"]:
            file["output"] = file["output"] and file["output"].replace(f"/{folder}/", "/")
    assert spread == alone
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")


def test_that_a_worker_killed_in_a_file_or_after_it_loses_nothing(batch, mortal, tmp_path):
    cluster, client = mortal
    for fault in (worker_faults.have_killed_in_a_file, worker_faults.have_killed_after_writing):
        flag = tmp_path / f"{fault.__name__}.flag"
        flag.touch()
        client.wait_for_workers(2, timeout=300)
        client.run(fault, str(flag))
        answer = batch(cluster=cluster, out=fault.__name__)
        assert not flag.exists()
        assert is_as_on_one_machine(batch, tmp_path, answer, fault.__name__)


class DeadlyPicture(distributed.WorkerPlugin):
    """Has each worker of a cluster, also one that is started later, be killed by a picture."""

    def setup(self, worker):
        worker_faults.kill_in("07.tif")


def test_that_a_picture_that_kills_each_worker_is_listed_and_the_others_are_done(batch, mortal, tmp_path):
    cluster, client = mortal
    client.register_plugin(DeadlyPicture())
    answer = batch(cluster=cluster, status=2)
    assert answer.out.count("Its worker ended each time") == 1
    batch(out="alone")
    alone = contents(tmp_path / "alone")
    del alone["07.tif"]
    assert contents(tmp_path / "out") == alone
    # Dask fails where a cluster is closed while a worker starts again.
    client.wait_for_workers(2, timeout=300)


def test_that_a_disk_that_is_full_everywhere_is_the_reason_of_each_file(batch, faulty, tmp_path):
    cluster, client = faulty
    client.run(worker_faults.have_no_space)
    answer = batch(cluster=cluster, status=2)
    assert answer.out.count("the disk is full") == PICTURES
    assert not contents(tmp_path / "out")


def test_that_a_scheduler_that_ends_is_reported_with_what_is_done(batch, mortal, tmp_path, monkeypatch):
    monkeypatch.setattr(command_line, "leave_at_once", lambda status: None)
    cluster, client = mortal
    flag, out = tmp_path / "flag", tmp_path / "out"
    client.run(worker_faults.wait_in_each_file, str(flag))

    def end():
        wait_for(f"{flag}.begun")
        cluster.sync(cluster.scheduler.close)
        # Else the end of the test would look for it for 30 s.
        cluster.shutdown_scheduler = False

    ending = threading.Thread(target=end)
    ending.start()
    answer = batch("--json", cluster=cluster, status=3)
    ending.join()
    flag.touch()
    assert "The scheduler" in answer.err
    document = answer.document
    done = {file["input"] for file in document["files"] if not file["failure"]}
    assert len(document["files"]) == PICTURES
    assert document["failed"] == PICTURES - len(done)
    assert not [name for name in contents(out) if name.endswith(".part")]


def test_that_the_same_command_does_what_a_lost_scheduler_left(batch, workers, photos, tmp_path):
    some = sorted(photos.iterdir())[:5]
    batch(inputs=some)
    answer = batch(cluster=workers, status=2)
    assert answer.out.count("it exists; use --overwrite") == 5
    batch(out="alone")
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")


def test_that_ctrl_c_finishes_what_is_in_its_filter_and_leaves_whole_files(batch, faulty, tmp_path, ctrl_c):
    cluster, client = faulty
    flag = tmp_path / "flag"
    client.run(worker_faults.wait_in_each_file, str(flag))

    def stop():
        wait_for(f"{flag}.begun")
        ctrl_c()
        flag.touch()

    stopping = threading.Thread(target=stop)
    stopping.start()
    answer = batch(cluster=cluster, status=130)
    stopping.join()
    assert answer.out.startswith("Stopped: ")
    done = int(answer.out.split()[1])
    assert 0 < len(contents(tmp_path / "out")) == done < PICTURES
    batch(out="alone")
    assert contents(tmp_path / "out").items() <= contents(tmp_path / "alone").items()


def test_that_a_folder_or_a_picture_that_workers_do_not_see_is_refused_in_words(
    batch, faulty, photos, tmp_path
):
    cluster, client = faulty
    client.run(worker_faults.see_nothing_in, str(photos))
    assert f"{photos / '00.png'} is not seen on" in batch(cluster=cluster, status=2).out
    client.run(worker_faults.heal)
    client.run(worker_faults.see_nothing_in, str(tmp_path / "out"))
    answer = batch(cluster=cluster, status=2)
    assert f"{tmp_path / 'out'} is not seen on {platform.node()}" in answer.out
    assert "a disk that all machines share" in answer.out


def test_that_a_worker_with_too_little_memory_for_a_picture_says_so(batch, faulty):
    cluster, client = faulty
    client.run(worker_faults.have_memory, 256 << 20)
    answer = batch(cluster=cluster, status=2)
    assert answer.out.count("Give the workers more memory") == PICTURES


def test_that_a_device_of_workers_other_than_their_cpu_is_refused(batch, workers):
    assert "--device simulator with --scheduler" in batch("--device simulator", cluster=workers, status=2).err
    assert "--variant tiled with --scheduler" in batch("--variant tiled", cluster=workers, status=2).err


def test_that_a_scheduler_that_is_not_there_ends_the_command(command, photos, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_S", 1)
    answer = command("batch", photos, "--out", tmp_path / "out", MASK, "--scheduler tcp://127.0.0.1:9")
    assert answer.status == 3
    assert "no scheduler of Dask answers there" in answer.err


def test_that_a_result_written_by_the_same_task_before_is_left_and_no_other_is(tmp_path):
    target = tmp_path / "a.png"
    file = PictureFile("b.png", str(target), format_to_save("a.png"))
    batch_loop.write_result(b"same", file, may_be_there=True)
    before = target.stat().st_mtime_ns
    batch_loop.write_result(b"same", file, may_be_there=True)
    assert target.stat().st_mtime_ns == before
    target.write_bytes(b"other")
    with pytest.raises(BadValue, match="it exists"):
        batch_loop.write_result(b"same", file, may_be_there=True)
    assert target.read_bytes() == b"other"


def test_that_auto_chooses_on_a_worker_by_the_cores_of_the_machine_that_asks():
    with cpu_chosen_as(77):
        assert cpu_info().facts["cores"] == "77"
    assert cpu_info().facts["cores"] == str(cores())


@pytest.fixture
def running(photos, tmp_path):
    """Return a batch over `local:2` that is a program with a process group of its own, and its children."""
    command = [sys.executable, "main.py", "batch", photos, "--out", tmp_path / "out", *MASK.split()]
    with subprocess.Popen(
        [*command, "--scheduler", "local:2"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        first = program.stderr.readline()
        assert first.startswith("[1/"), first
        yield program, psutil.Process(program.pid).children(recursive=True)


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_that_local_workers_end_with_the_program_whatever_ends_it(running, tmp_path, name):
    program, children = running
    assert len(children) >= 2
    # As a terminal does, to all of its group; `kill` names the program alone.
    signal_all = os.killpg if name == "SIGINT" else os.kill
    signal_all(program.pid, signal.Signals[name])
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    assert "Traceback" not in program.stderr.read()
    # What is killed leaves parts, which the next program removes.
    left = [path for path in (tmp_path / "out").iterdir() if path.suffix not in (".png", ".tif", ".jpg")]
    assert name == "SIGKILL" or not left
