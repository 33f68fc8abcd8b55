"""The PTX and the SASS of a variant's kernels, compiled for an architecture that need not be here."""

from functools import lru_cache
from typing import TYPE_CHECKING

from engine.device.cuda_presence import missing
from engine.device.kernel_factory import import_names
from engine.device.launches import Kernel, Pass, Signature
from engine.errors import BadValue
from engine.explain.architectures import Architecture
from engine.explain.code.instruction_counts import counted
from engine.explain.code.listing import Form, Listing
from engine.explain.code.ptx_listing import ptx_listing
from engine.explain.code.sass_listing import sass_listing
from engine.explain.code.shown_code import ListedKernel
from engine.explain.examples import Example

if TYPE_CHECKING:  # imported by `import_names`: Numba's CUDA target takes half a second
    from engine.device import disassembler, explained_code


def listed_kernels(example: Example, form: Form, architecture: Architecture) -> tuple[ListedKernel, ...]:
    """Return each kernel of a variant once, in the order of their launches.

    Raises BadValue for a variant without kernels of ours, where the CUDA compiler is missing, and for SASS
    without a disassembler; UnsupportedVariant where the variant does not run on such a device.
    """
    variant, what = example.variant, f"{form.upper()} of {example.variant.key}"
    if not variant.has_kernels:
        why = f"it has no CUDA kernel of ours{', but calls a library' if variant.library else ''}"
        raise BadValue(what, why, "Look at its source instead.")
    if missing:
        raise BadValue(what, missing, "Without it the source is shown.")
    launched: dict[tuple[int, str], list[Pass]] = {}
    for step in example.passes(architecture):
        launched.setdefault((id(step.kernel), str(step.signature)), []).append(step)
    found = []
    for steps in launched.values():
        listing = listing_of(steps[0].kernel, steps[0].signature, architecture, form)
        found.append(ListedKernel(tuple(one.name for one in steps), listing, counted(listing)))
    return tuple(found)


@lru_cache(maxsize=64)
def listing_of(kernel: Kernel, signature: Signature, architecture: Architecture, form: Form) -> Listing:
    """Return the listing of a kernel for arguments of these types; SASS needs a disassembler."""
    import_names(__name__)
    code, name = (kernel, signature, architecture.capability), kernel.py_func.__name__
    if form is Form.PTX:
        return ptx_listing(explained_code.explained_ptx(*code), name, str(architecture))
    text = disassembler.disassembled(explained_code.explained_machine_code(*code))
    return sass_listing(text, name, str(architecture))
