"""Colour profiles (ICC): whether one belongs to the channels that we hold."""


def profile_fits(profile: bytes | None, channels: int) -> bool:
    """Whether a profile describes grey (1 channel) or RGB (3 channels).

    The profile of a CMYK file no longer fits once its pixels are RGB, and readers reject it.

    Parameters
    ----------
    profile : bytes or None
        ICC profile; bytes 16 to 19 name its colour space.
    channels : int
        1 or 3.
    """
    space = b"GRAY" if channels == 1 else b"RGB "
    return profile is not None and len(profile) >= 128 and profile[16:20] == space
