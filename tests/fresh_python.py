"""Python in a process of its own, for what only a fresh one shows: imports, settings."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def fresh_python(*arguments: str, **settings: str) -> str:
    """Return what Python prints, started from the root with these arguments; it must end with status 0.

    `settings` are further environment variables.
    """
    environment = os.environ | settings
    # A crash says where; without a word only the status tells what ended it.
    command = [sys.executable, "-X", "faulthandler", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr
