"""A library's process, seen from the benchmark: started, asked, replaced when it ends or is silent."""

import json
import os
import select
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

# The same number of threads for all, whatever they compute with.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


class Lost(Exception):
    """The process ended, or did not answer in time."""


@dataclass
class Worker:
    """The process of one library."""

    module: str  # The library's module, such as "bench.peers.libraries.opencv"
    threads: int = 1
    methods: tuple[str, ...] = ()  # Passed to the library; empty: it chooses
    python: str = sys.executable  # The interpreter that has the library
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def ask(self, do: str, *, timeout_s: float = 60.0, **fields: Any) -> dict[str, Any]:
        """Send a command and return the answer.

        Raises Lost where it ended or is silent; the next command starts a new process.
        """
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write((json.dumps({"do": do} | fields) + "\n").encode())
            process.stdin.flush()
        except OSError:
            raise self._lost() from None
        answer: dict[str, Any] = json.loads(self._line(process, timeout_s))
        return answer

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b'{"do": "end"}\n')
            process.stdin.close()
            process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        process.stdout.close()
        self._errors.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            environment = os.environ | {name: str(self.threads) for name in _THREAD_VARIABLES}
            command = [self.python, "-m", "bench.peers.worker", self.module, "--threads", str(self.threads)]
            if self.methods:
                command += ["--methods", ",".join(self.methods)]
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
            )
        return self._process

    def _line(self, process: subprocess.Popen[bytes], timeout_s: float) -> bytes:
        assert process.stdout is not None
        found = b""
        while not found.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], timeout_s)
            if not ready:
                raise self._lost(f"no answer within {timeout_s:.0f} s")
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                raise self._lost()
            found += piece
        return found

    def _lost(self, why: str = "") -> Lost:
        process, self._process = self._process, None
        assert process is not None
        if why:
            process.kill()
        status = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        self._errors.close()
        last = f": {said[-1][:200]}" if said and not why else ""
        return Lost(why or f"its process ended with status {status}{last}")
