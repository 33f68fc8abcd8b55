"""Launches as the engine would describe them, with registers that nothing was compiled for."""

from msgspec.structs import replace

from engine.device_info import KernelResources, launch_facts
from engine.explain import answers
from engine.explain.launches import ABSENT_GPUS, DEFAULT, explained_launch

REGISTERS = 60


def made_advice(asked, registers=0):
    """Return the answer to a request, with so many registers per thread; 0: not known yet."""
    asked = replace(asked, architecture=asked.architecture or DEFAULT)
    advice = answers.advice(asked, lambda step: None)
    gpu = ABSENT_GPUS[asked.architecture].attributes
    launches = []
    for launch in advice.launches:
        facts = launch.facts
        taken = KernelResources(registers, facts.shared_bytes, 0)
        made = launch_facts(facts.grid, facts.block, taken, gpu, facts.halo_redundancy, facts.idle_threads)
        launches.append(explained_launch(made, taken, gpu, launch.constant_bytes))
    reason = "" if launches else advice.reason
    return replace(advice, launches=tuple(launches), reason=reason)
