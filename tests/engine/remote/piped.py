"""A server that is a program on this machine, over plain pipes: what ssh would start, without ssh."""

import sys
from dataclasses import dataclass
from pathlib import Path

from engine.remote.ssh import RemoteServer

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Piped(RemoteServer):
    """`record` is a file that gets all that the server sends; `program` is run in the server's place."""

    destination: str = "pipe"
    record: str = ""
    program: str = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from engine.remote.server import main; main()"
    )

    @property
    def command(self):
        serve = [sys.executable, "-c", self.program]
        if not self.record:
            return serve
        return ["sh", "-c", f'"$@" | tee {self.record}', "sh", *serve]
