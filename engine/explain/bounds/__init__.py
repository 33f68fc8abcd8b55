"""Why a run takes its time: what its launches must do, and how long a device takes for that at least."""
