"""Compile the CPU variants' code for AArch64, on any machine: `python -m tests.engine.variants.cpu.for_arm`.

Prints JSON: by function and type of the picture, how many instructions of the assembly multiply and add
vectors, and how many call a function to do it.
"""

import importlib
import json
import os
import re
import sys

import llvmlite.binding as llvm
import numpy as np

CPU = {"NUMBA_CPU_NAME": "neoverse-n1", "NUMBA_CPU_FEATURES": "+neon,+fp-armv8"}
TRIPLE = "aarch64-unknown-linux-gnu"


def _emit_for_arm():
    """Have the engine's emitters take the processor for ARM's, and Numba, which comes later, for its own."""
    os.environ |= CPU
    importlib.import_module("engine.variants.cpu.register_tiles")
    for name in CPU:
        del os.environ[name]


def assembly_of(ir):
    """Return the assembly of a module; its object file is made too."""
    foreign = ("target triple", "target datalayout")
    module = llvm.parse_assembly("\n".join(line for line in ir.splitlines() if not line.startswith(foreign)))
    target = llvm.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(CPU["NUMBA_CPU_NAME"], CPU["NUMBA_CPU_FEATURES"], 2)
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    assert machine.emit_object(module).startswith(b"\x7fELF")
    return machine.emit_assembly(module)


def main():
    _emit_for_arm()
    import numba.core.sigutils

    from engine.compiled.machine_code import MachineFunction
    from engine.geometry.block import Block
    from engine.mask.mask import Mask
    from engine.work.filter_task import describe_problem
    from engine.work.filtering.variants import variant

    found = {}

    def compiled(function, types):
        options = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True} | function._options
        arguments, _ = numba.core.sigutils.normalize_signature(f"void({types})")
        result = numba.njit(**options)(function.function())._compiler.compile(arguments, None)
        assembly = assembly_of(result.library.get_llvm_str())
        found[f"{function.name} {dtype}"] = {
            "vectors": len(re.findall(r"\tfmla\tv\d+\.4s", assembly)),
            "calls": len(re.findall(r"\tbl\tfmaf?\b", assembly)),
        }
        return 1  # is called by nothing

    MachineFunction._loaded = compiled
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Bytes are loaded the same way by all of them.
    for key, side, dtype in (
        ("cpu-parallel", 7, "float32"),
        ("cpu-parallel", 7, "uint8"),
        ("cpu-separable", 31, "float32"),
        ("cpu-box", 9, "float32"),
    ):
        mask = Mask(np.ones((side, side)))
        problem = describe_problem(np.zeros((64, 64, 1), dtype), mask, "mirror", 0.0, dtype)
        variant(key).prepare(problem, mask, Block(1, 1))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
