"""Names of segments of shared memory: a random part per client, the number of its host, that of the segment.

So no two programs use the same ones, and all that a killed host has left can be found. macOS takes names of
31 characters with the leading slash: that leaves six digits for segments, and four for hosts.
"""

import secrets


def new_prefix() -> str:
    """Return the beginning of a client's names, or of those of a process without one: no other has it."""
    return f"haloscope-{secrets.token_hex(4)}"


def host_prefix(client_prefix: str, number: int) -> str:
    """Return the beginning of the names of a client's n-th host."""
    return f"{client_prefix}-{number}"


def name_of(prefix: str, number: int) -> str:
    """Return the name of a process's n-th segment."""
    return f"{prefix}-{number}"


def number_of(name: str) -> int:
    """Return n of a process's n-th segment."""
    return int(name.rpartition("-")[2])
