"""What a worker says of itself. Sent to workers by value: it runs where Haloscope is not installed, too."""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys


def facts_of_worker(package: str) -> dict[str, str]:
    """Return the machine's name and the versions that have to agree, "" for what is not there.

    `package` is the name by which the engine is imported.
    """
    found = {"machine": platform.node(), "Python": ".".join(platform.python_version_tuple()[:2])}
    for name in ("dask", "distributed"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = ""
    find_clone(package)
    try:
        found["Haloscope"] = str(importlib.import_module(package).__version__)
    except ImportError:
        found["Haloscope"] = ""
    return found


def find_clone(package: str) -> None:
    """Let the engine be imported by a worker that was started in the folder of a clone.

    Unlike `python`, the program `dask` does not look for modules where it is started.
    """
    folder = os.getcwd()
    if importlib.util.find_spec(package) is None and os.path.isfile(
        os.path.join(folder, package, "cluster", "worker.py")
    ):
        sys.path.append(folder)
