"""NumPy's warnings of NaN and infinity, which pictures may have: no fault, and nobody reads them there."""

import warnings

# "invalid value encountered in dot", "All-NaN slice encountered", "Mean of empty slice"
_OF_NUMBERS = r".* encountered|Mean of empty slice|Degrees of freedom"


def leave_out_float_warnings() -> None:
    """Print none of them from now on, on any thread. Called at the start of a process of the window."""
    warnings.filterwarnings("ignore", _OF_NUMBERS, RuntimeWarning)
