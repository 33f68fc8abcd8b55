"""The limit on memory, checked from the header alone: before anything is allocated, and in well under a second."""

from engine.image.faults import Refused

# 4 GiB hold 35,000 x 40,000 RGB at 8 bit: beyond every camera, within the memory of most machines.
DEFAULT_MAX_BYTES = 4 * 2**30

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def check_budget(width: int, height: int, channels: int, value_bytes: int, max_bytes: int) -> None:
    """Refuse a picture whose pixels would take more than `max_bytes`, or that has none.

    Parameters
    ----------
    width, height : int
        Pixels.
    channels : int
        Values a pixel, alpha counted.
    value_bytes : int
        Bytes of each value.
    max_bytes : int
        The limit.

    Raises
    ------
    Refused
        With both sizes.
    """
    if width < 1 or height < 1:
        raise Refused(f"its header says {width} x {height} pixels")
    needed_bytes = width * height * channels * value_bytes
    if needed_bytes > max_bytes:
        raise Refused(
            f"its {width:,} x {height:,} pixels take {bytes_text(needed_bytes)}, the limit is {bytes_text(max_bytes)}",
            "Open a smaller picture or a part of it, or raise the limit (max_bytes, --max-bytes).",
        )


def bytes_text(count: int) -> str:
    """Write a number of bytes as people read it: "820 bytes", "4.0 GiB"."""
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**power:,.1f} {_UNITS[power - 1]}"
