"""An sshd of this user on a free port of this machine, a slow line to it, and a server over plain pipes."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.remote.ssh import RemoteServer

ROOT = Path(__file__).resolve().parents[3]
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
MISSING = [name for name in (SSHD, "ssh", "ssh-keygen") if shutil.which(name) is None]
PYTHON = f"cd {ROOT} && {sys.executable}"
PATIENCE_S = 60.0


class Sshd:
    """Runs until `close`; `options` are what ssh needs to reach it, `to` is its destination."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("host", "user", "other"):
            key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(key, check=True)
        shutil.copy(folder / "user.pub", folder / "authorized")
        if os.geteuid() == 0:
            # Where sshd of root leaves its privileges.
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.to = f"{getpass.getuser()}@127.0.0.1"
        self.log = open(folder / "log", "wb")  # noqa: SIM115 - for its life
        # Another process may take the free port before sshd does, which then ends.
        if not any(self._starts() for _ in range(5)):
            raise RuntimeError(f"sshd does not start: {(folder / 'log').read_text()}")

    def _starts(self) -> bool:
        """Start it on a free port; return whether it answers there."""
        folder = self.folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # What this side has compiled is not compiled there again.
        config, kept = folder / "sshd_config", os.environ.get("NUMBA_CACHE_DIR")
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nPermitRootLogin yes\nLogLevel ERROR\n"
            + (f"SetEnv NUMBA_CACHE_DIR={kept}\n" if kept else "")
        )
        host_key = " ".join((folder / "host.pub").read_text().split()[:2])
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {host_key}\n")
        self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=self.log)

        def answers() -> bool:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return True
            return False

        wait_until(lambda: self.process.poll() is not None or answers())
        return self.process.poll() is None

    def options(self, *, key: str = "user", known: str = "known", proxy: str = "") -> tuple[str, ...]:
        """Return the options of ssh: a file of settings, as `~/.ssh/config` is."""
        config = self.folder / f"config-{key}-{known}-{abs(hash(proxy))}"
        config.write_text(
            f"Host *\n  Port {self.port}\n  IdentityFile {self.folder}/{key}\n  IdentitiesOnly yes\n"
            f"  IdentityAgent none\n  UserKnownHostsFile {self.folder}/{known}\n  GlobalKnownHostsFile none\n"
            "  StrictHostKeyChecking yes\n  LogLevel ERROR\n  Ciphers aes128-gcm@openssh.com\n"
            + (f"  ProxyCommand {proxy}\n" if proxy else "")
        )
        return "-F", str(config)

    def shaped(self, delay_ms: float, megabits: float, cut: str = "") -> tuple[str, ...]:
        """Return options for a line with a delay each way and a rate; it is cut while a file `cut` exists."""
        script = Path(__file__).with_name("slow_pipe.py")
        return self.options(
            proxy=f"{sys.executable} {script} 127.0.0.1 {self.port} {delay_ms} {megabits} {cut or '-'}"
        )

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(60.0)
        self.log.close()


def wait_until(is_true, patience_s=PATIENCE_S) -> float:
    """Wait until something is so; return how long that took, or fail."""
    begin = time.monotonic()
    while not is_true():
        assert time.monotonic() - begin < patience_s
        threading.Event().wait(0.02)
    return time.monotonic() - begin


@dataclass(frozen=True, slots=True)
class Piped(RemoteServer):
    """A server without ssh, as a program of this machine; `record` is a file that gets all that it sends.

    `program` is run in the server's place.
    """

    destination: str = "pipe"
    record: str = ""
    program: str = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from engine.remote.server import main; main()"
    )

    @property
    def command(self):
        serve = [sys.executable, "-c", self.program]
        return ["sh", "-c", f'"$@" | tee {self.record}', "sh", *serve] if self.record else serve
