"""A server that is reached by the system's ssh: what is started there, and what it means when that fails."""

import json
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import IO

from engine.errors import BadValue, EngineError, LineLost
from engine.host.request import HostOptions
from engine.remote import VERSION

GREETING = b"HALOSCOPE "
"""What the line of a server's program begins with; a shell may say something before it."""
_MOST_GREETING = 1 << 16
GREETED_S = 30.0  # how long a server may take to say its first line
_LEAVING_S = 5.0
_PACKAGES = "engine", "haloscope"

# Python of any version reads it. A clone is where `--host-python "cd /there && ..."` goes; else what is
# installed. A program that is there but does not start says why on standard error.
_BOOTSTRAP = """\
import sys,os
v="%d.%d.%d"%sys.version_info[:3]
def no(w):
 sys.stdout.write('HALOSCOPE {"missing":"%s","python":"%s"}\\n'%(w,v));sys.stdout.flush();sys.exit(3)
sys.version_info<(3,11) and no("python")
p="_e_" if os.path.isfile(os.path.join("_e_","remote","server.py")) else "_h_"
p=="_e_" and sys.path.insert(0,os.getcwd())
import importlib,importlib.util
importlib.util.find_spec(p) or no("_h_")
importlib.util.find_spec(p+".remote") or no("version")
importlib.import_module(p+".remote.server").main()
""".replace("_e_", _PACKAGES[0]).replace("_h_", _PACKAGES[1])


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """A server: what ssh calls it, and its Python, `python3` or a shell's "cd /repo && venv/bin/python".

    Everything else, such as keys, ports and jump hosts, is in `~/.ssh/config`; `ssh_options` are given to ssh
    before the destination. It asks for no password.
    """

    destination: str
    python: str = "python3"
    ssh_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what ssh would take for an option, or what is no name."""
        if not self.destination.strip() or self.destination.startswith("-"):
            why = "it is not the name of a server"
            raise BadValue(f"--host '{self.destination}'", why, "Write it as ssh takes it: user@server.")

    @property
    def title(self) -> str:
        """The machine in words."""
        return self.destination

    @property
    def install_command(self) -> str:
        """What is typed here to have the same version there."""
        return self._typed(f"{self.python} -m pip install {shlex.quote(f'haloscope=={VERSION}')}")

    def _typed(self, there: str) -> str:
        """Return what is typed here so that the shell there gets a command as it is, `cd F && …` too."""
        words = ["ssh", self.destination, there]
        return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)

    def serve(self, connection: Connection, options: HostOptions) -> None:
        """Serve requests by this server. Called on: the main thread of a child process."""
        # The window only names the server: what serves is loaded in the child.
        from engine.remote.relay import Relay

        Relay(self, connection, options).run()

    @property
    def command(self) -> list[str]:
        """What is run here: ssh, which runs Python there."""
        # Where the other side is gone, ssh ends as soon as we notice.
        alive = "-o", "ServerAliveInterval=4", "-o", "ServerAliveCountMax=2", "-o", "ConnectTimeout=15"
        there = f"{self.python} -c {shlex.quote(_BOOTSTRAP)}"
        return ["ssh", "-T", "-o", "BatchMode=yes", *alive, *self.ssh_options, "--", self.destination, there]

    def why_not_greeted(
        self, ssh: "subprocess.Popen[bytes]", errors: Callable[[], str]
    ) -> EngineError | None:
        """Wait for the greeting; return why the line cannot be used, or None. `errors`: what ssh reports."""
        assert ssh.stdout is not None
        greetings: list[dict[str, object]] = []
        output = ssh.stdout
        # A pipe that is read cannot be given up; its thread can.
        reading = threading.Thread(target=lambda: greetings.append(self.greeting(output)), daemon=True)
        reading.start()
        reading.join(GREETED_S)
        if not greetings:
            what = f"The server {self.destination} does not answer"
            why = f"the program there has said nothing in {GREETED_S:g} s"
            return LineLost(what, why, f"Try it by hand: {self._typed(f'{self.python} --version')}")
        if not greetings[0]:
            # What ssh says comes before its end.
            with suppress(subprocess.TimeoutExpired):
                ssh.wait(_LEAVING_S)
        return self.refusal(greetings[0], ssh.poll(), errors())

    def greeting(self, output: IO[bytes]) -> dict[str, object]:
        """Read what the program there says first; nothing where it did not start."""
        read = 0
        while read < _MOST_GREETING and (line := output.readline(_MOST_GREETING)):
            read += len(line)
            if line.startswith(GREETING):
                try:
                    words = json.loads(line.removeprefix(GREETING))
                except (ValueError, RecursionError):
                    return {}
                return words if isinstance(words, dict) else {}
        return {}

    def refusal(self, greeting: dict[str, object], status: int | None, errors: str) -> EngineError | None:
        """Return why a connection cannot be used, None where it can; `errors` is what ssh has reported."""
        # As what serves.
        from engine.remote.schema import DIGEST

        what, install = f"The server {self.destination} cannot be used", self.install_command
        missing, python = greeting.get("missing"), str(greeting.get("python", "?"))[:20]
        version = str(greeting.get("version", "older" if missing else ""))[:40]
        if missing == "python":
            why = f"its Python is {python}, and 3.11 or later is needed"
            remedy = "Install one there, and name it with --host-python, such as python3.11."
        elif missing == _PACKAGES[1]:
            why = "its Python has no Haloscope"
            clone = "'cd FOLDER && .venv/bin/python'"
            remedy = f"Name the Python of a clone with --host-python {clone}, or install it there: {install}"
        elif not version:
            return self._not_started(status, errors)
        elif (version, greeting.get("schema")) == (VERSION, DIGEST):
            return None
        else:
            same = " of other sources" if version == VERSION else ""
            why = f"it has Haloscope {version}{same}, and here is {VERSION}"
            remedy = f"Install the same version: {install}"
        return LineLost(what, why, remedy)

    def _not_started(self, status: int | None, errors: str) -> LineLost:
        """Return what ssh, or the shell there, means."""
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        ended = "no program of Haloscope answers there" if not status else f"ssh ended with status {status}"
        last = lines[-1].rstrip(".") if lines else ended
        text, what, why = errors.lower(), f"The server {self.destination} cannot be used", last[:300]
        for pattern, meaning, remedy in _MEANINGS:
            if re.search(pattern, text):
                remedy = remedy.format(to=shlex.quote(self.destination))
                return LineLost(f"The server {self.destination} is not reached", f"{meaning} ({why})", remedy)
        if status == 127 or "not found" in text:
            remedy = "Install Python 3.11 or later there, or name the one that is there with --host-python."
            return LineLost(what, f"there is no such Python ({why})", remedy)
        return LineLost(what, why, f"Try it by hand: {self._typed(f'{self.python} --version')}")


# What ssh says, what that means, and what helps.
_MEANINGS = (
    ("could not resolve|name or service not known", "no such host is known",
     "Check the name, and ~/.ssh/config."),
    ("host key verification failed|remote host identification has changed",
     "its host key is not the known one, or not known yet",
     "Connect once by hand and compare the key: ssh {to}"),
    ("permission denied|too many authentication failures", "it refused the key",
     "Add your key to the agent with ssh-add, or put it there: ssh-copy-id {to}"),
    ("connection refused", "nothing listens for ssh there",
     "Check the port in ~/.ssh/config, and sshd there."),
    ("no route to host|network is unreachable", "there is no way to it", "Check the network, or a VPN."),
    ("timed out|timeout", "it does not answer", "Check that it is on, and the network between."),
    ("bad configuration|terminating,", "ssh does not understand its settings", "Mend ~/.ssh/config."),
)  # fmt: skip
