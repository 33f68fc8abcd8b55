"""Haloscope's engine, as scripts use it.

>>> import engine
>>> picture = engine.open_image("photo.png")
>>> edges = engine.correlate(picture, engine.preset("sobel-x"), border="mirror")
>>> engine.save_image(edges, "edges.tif")

Everything named here is public. Importing the package costs little: Numba and the decoders are loaded by the
first call that needs them. Type checkers read the stub beside this file, where each name is imported.
"""

import importlib

__version__ = "0.2.0"

_NAMES = {
    "engine.api.applied": "Applied",
    "engine.flow.dask_arrays": "filter_dask",
    "engine.api.filtering": "convolve correlate list_devices list_variants",
    "engine.api.network": "Recognition network",
    "engine.api.verified": "AppliedBank Chained Operated apply apply_bank chain operate",
    "engine.api.product": "matmul",
    "engine.api.plan": "Plan plan",
    "engine.errors": "DeviceUnavailable EngineError VerificationFailed",
    "engine.geometry.block": "Block UnsupportedVariant",
    "engine.geometry.border": "Border",
    "engine.image.open": "open_image",
    "engine.image.picture": "Picture",
    "engine.image.save": "finished_picture save_image",
    "engine.judging.judge": "judge",
    "engine.judging.judgement": "Judgement",
    "engine.mask.mask": "Mask",
    "engine.mask.presets": "preset preset_names",
    "engine.mask.text": "format_mask parse_mask",
    "engine.work.columns": "RunResult",
    "engine.flow.filtering": "Streamed filter_stream pinned_array",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOME)


def load_ipython_extension(shell: object) -> None:
    """Register the magics of IPython and Jupyter: `%%judge`."""
    importlib.import_module("engine.judging.notebook").load_ipython_extension(shell)


# Names of before, and what does it now.
_INSTEAD = {"operate_dask": "; filter_dask takes an operation as a step: [{'operation': 'median'}]"}


def __getattr__(name: str) -> object:
    """Load the module of a public name on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_INSTEAD.get(name, '')}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value
