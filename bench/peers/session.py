"""The processes of one run, opened and closed: what `bench.peers` and `bench.check` share."""

import argparse
import contextlib
import sys
from collections.abc import Iterator

from bench.peers.measure import Measurement, Plan
from bench.peers.pipe import Worker
from bench.peers.roster import OURS, ROSTERS
from engine.device.core_count import cores


def add_arguments(parser: argparse.ArgumentParser, *, device_required: bool = True) -> None:
    """Add what both commands understand."""
    parser.add_argument("--device", choices=("gpu", "cpu"), required=device_required)
    parser.add_argument("--threads", type=int, default=cores(), help="of every library on the CPU")
    parser.add_argument(
        "--peer-python", default=sys.executable, help="the Python that has the peers, if another one"
    )
    parser.add_argument("--commit", default="", help="for the record, where there is no git to ask")


@contextlib.contextmanager
def opened(
    arguments: argparse.Namespace, plan: Plan, *, ours: tuple[str, ...] = (), only: tuple[str, ...] = ()
) -> Iterator[Measurement]:
    """Open the processes of every library, and end them at the end.

    `arguments`: as `add_arguments` makes them. `ours`: keys of our variants; empty: the library's own choice,
    "all": every one. `only`: keys of libraries; empty: all.
    """
    threads = max(1, arguments.threads)
    workers = [
        (
            entry,
            Worker(
                entry.module,
                threads,
                ours if entry.key == OURS else (),
                arguments.peer_python if entry.is_peer else sys.executable,
            ),
        )
        for entry in ROSTERS[arguments.device]
        if not only or entry.key in only
    ]
    measurement = Measurement(workers, plan, lambda text: print(text, flush=True))
    try:
        measurement.open()
        yield measurement
    finally:
        measurement.close()
