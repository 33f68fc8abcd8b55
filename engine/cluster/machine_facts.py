"""What a worker says of itself. Sent to workers by value: it runs where Haloscope is not installed, too."""

import importlib
import importlib.metadata
import platform


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
    try:
        found["Haloscope"] = str(importlib.import_module(package).__version__)
    except ImportError:
        found["Haloscope"] = ""
    return found
