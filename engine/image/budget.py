"""The limit on memory, checked from the header alone: before anything is allocated, and in well under a second."""

from collections.abc import Callable
from dataclasses import dataclass

from engine.image.faults import Refused
from engine.image.form import Form

# 4 GiB hold 35,000 x 40,000 RGB at 8 bit: beyond every camera, within the memory of most machines.
DEFAULT_MAX_BYTES = 4 * 2**30

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_REMEDY = "Open a smaller picture or a part of it, or raise the limit (max_bytes, --max-bytes)."


@dataclass(frozen=True, slots=True)
class Budget:
    """How much memory a picture may take, and what will be done with it.

    Parameters
    ----------
    max_bytes : int
        The limit.
    work_bytes : callable of (Form) -> int, optional
        The most memory that what follows takes at any time, bytes, the decoded picture counted.
    work : str
        What follows, in words before the picture's size ("filtering and saving").
    """

    max_bytes: int
    work_bytes: Callable[[Form], int] | None = None
    work: str = ""

    def check(self, form: Form, decoder_bytes: int = 0) -> None:
        """Refuse a picture that has no pixels, or that takes more than the limit.

        Parameters
        ----------
        form : Form
        decoder_bytes : int, default 0
            The most that its decoder holds beside the decoded picture. What stays below some ten MB, or is
            given back as fast as the picture grows, is not counted.

        Raises
        ------
        Refused
            With both sizes.
        """
        if form.width < 1 or form.height < 1:
            raise Refused(f"its header says {form.width} x {form.height} pixels")
        pixels = f"{form.width:,} x {form.height:,} pixels"
        self._check(form.decoded_bytes, f"its {pixels} take")
        self._check(form.decoded_bytes + decoder_bytes, f"decoding its {pixels} takes")
        if self.work_bytes is not None:
            self._check(self.work_bytes(form), f"{self.work} its {pixels} takes")

    def _check(self, needed_bytes: int, words: str) -> None:
        if needed_bytes > self.max_bytes:
            raise Refused(
                f"{words} {bytes_text(needed_bytes)}, the limit is {bytes_text(self.max_bytes)}", _REMEDY
            )


def check_long_enough(form: Form, byte_count: int, least_bytes: int, what: str = "it has") -> None:
    """Refuse a file that cannot hold its pixels, however well they are compressed.

    Parameters
    ----------
    form : Form
    byte_count : int
        Bytes of the file, or of its compressed pixels.
    least_bytes : int
        The fewest that a legal file of that size has.
    what : str
        What has them, in words.

    Raises
    ------
    Refused
    """
    if byte_count < least_bytes:
        raise Refused(
            f"{what} {byte_count:,} bytes, its {form.width:,} x {form.height:,} pixels take "
            f"{least_bytes:,} at least: it was cut short or its header is damaged"
        )


def bytes_text(count: int) -> str:
    """Write a number of bytes as people read it: "820 bytes", "4.0 GiB"."""
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**power:,.1f} {_UNITS[power - 1]}"
