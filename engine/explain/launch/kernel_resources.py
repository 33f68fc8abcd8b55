"""Registers and memory of a variant's kernels for a GPU that need not be here.

They are compiled and linked without it. The code is that which a launch on such a GPU loads, kept in the same
store (`engine.device.kernel_code`). A kernel takes 0.2 to 0.5 s where it is not kept, so the window asks in
the background.
"""

from collections.abc import Callable
from typing import Any

from engine.device.cubin import resources_of
from engine.device.cuda_presence import missing
from engine.geometry.block import Block
from engine.results.launch_facts import KernelResources
from engine.run.variant import AnyVariant

# Numba's CUDA target, which takes 0.4 s: only what explains a kernel imports this module.
if not missing:
    from engine.device.kernel_code import with_code


def kernel_resources(
    variant: AnyVariant[Any, Any],
    problem: Any,
    constant: Any,
    block: Block,
    capability: tuple[int, int],
    between: Callable[[], object] = lambda: None,
) -> tuple[KernelResources, ...]:
    """Return what each kernel of a variant takes, one per launch; `between` is called before each.

    It must be something that the variant accepts on such a GPU, in a process that compiles kernels
    (`engine.explain.launch.launches.why_not_compiled`).
    """
    found = []
    for step in variant.passes(problem, constant, block):
        between()
        found.append(with_code(step.kernel, step.signature, capability, resources_of))
    return tuple(found)
