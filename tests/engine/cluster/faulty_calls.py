"""What tests wait for."""

import time
from pathlib import Path


def wait_for(path):
    """Wait until a file is there; tests write it."""
    while not Path(path).exists():
        time.sleep(0.01)
    return path
