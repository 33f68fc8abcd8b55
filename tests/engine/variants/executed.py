"""What the kernels of a run in the simulator did: their accesses to memory, and counts of elements."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from msgspec.structs import replace

from engine.device import interpreter
from engine.device.interpreter import run_pass
from engine.device.launches import Operand, Pass
from engine.geometry.border import Border
from engine.ptx import Array, InterpretedRun
from engine.ptx.arithmetic import DTYPES
from engine.ptx.memory import Access as PtxAccess
from engine.ptx.module import Instruction
from engine.results.problem import Work
from engine.variants.fast.tile_shape import byte_tile_shape
from tests.engine.variants.cases import check, result_of, verified
from tests.engine.variants.emitted import assert_as_planned, assert_rounded, compiled
from tests.ptx import older

# Bytes of an element of shared memory that is copied to.
_OF_FLOAT = 4
# Samples of a picture.
MOST_COUNTED = 1000
WITH_BYTES = ("digit-sums", "register-blocked")


@dataclass(eq=False)
class Access:
    """An access of threads of a block, of `size` bytes each; addresses count from the array's beginning."""

    instruction: Instruction
    array: str
    space: str
    threads: np.ndarray
    addresses: np.ndarray
    size: int
    place: PtxAccess
    values: np.ndarray | None = None  # what is there once the access is made, a row for each thread

    def look(self) -> None:
        """Note what is there."""
        at = np.broadcast_to(self.place.flat, self.threads.shape)[:, None] + np.arange(self.size)
        kind = self.instruction.modifiers[-1]
        self.values = self.place.segment.data[at].view(DTYPES.get(kind, np.dtype(np.uint8)))


def accesses_of(step: Pass, arrays: Mapping[Any, Array], at: tuple[int, int, int]) -> list[Access]:
    """Return the accesses of one block, of which a grid may have none, that runs on copies of the arrays."""
    if any(place >= side for place, side in zip(at, step.launch.grid, strict=True)):
        return []
    copies = {key: Array(one.name, one.values.copy()) for key, one in arrays.items()}
    found: list[Access] = []

    def note(one: PtxAccess) -> None:
        if found:
            found[-1].look()
        threads, segment = one.active.slots, one.segment
        addresses = np.broadcast_to(one.offsets.view(np.int64), threads.shape)
        found.append(Access(one.instruction, segment.name, segment.space, threads, addresses, one.size, one))

    run_pass(step, copies, checks=False, counted=False, chosen_blocks=[at], on_access=note)
    found[-1].look()
    return found


class Launched(NamedTuple):
    """A launch of a kernel: its pass, what came of it, and the arrays of the pass by placeholder."""

    step: Pass
    run: InterpretedRun
    arrays: Mapping[Any, Array]
    accesses: list[Access]  # of the block that is observed


@contextmanager
def observed(at: tuple[int, int, int] | None = None, **asked: Any) -> Iterator[list[Launched]]:
    """Note what is launched in the simulator meanwhile, and the accesses of the block `at`.

    `asked` is as of `engine.ptx.run`.
    """
    found = []

    def run(step: Pass, arrays: Mapping[Any, Array], **others: Any) -> InterpretedRun:
        accesses = [] if at is None else accesses_of(step, arrays, at)
        found.append(Launched(step, run_pass(step, arrays, **others | asked), dict(arrays), accesses))
        return found[-1].run

    with mock.patch.object(interpreter, "run_pass", run):
        yield found


def executed(launches: Iterable[Launched]) -> Work:
    """Return what launches did that were counted, as a model of work says it; of one repeated the first.

    Elements that threads loaded and stored, products of single numbers; a copy from global to shared memory
    is one load and one store. The least bytes are not known.
    """
    loads, stores, bytes_of, products = Counter(), Counter(), Counter(), 0
    for _, run, arrays, _ in {id(one.step): one for one in launches}.values():
        itemsizes = {one.name: one.values.itemsize for one in arrays.values()}
        picture = arrays[Operand.IMAGE].name if Operand.IMAGE in arrays else ""
        for key, asked in run.counts.accesses.items():
            kind = run.machine.kernel.instructions[key.number].modifiers[-1]
            of_type = DTYPES[kind].itemsize if kind in DTYPES else _OF_FLOAT
            count = asked.bytes // itemsizes.get(key.array, of_type)
            is_load = key.kind in ("loads", "atomics") or (key.kind == "copies" and key.space == "global")
            is_store = key.kind in ("stores", "atomics") or (key.kind == "copies" and key.space == "shared")
            for is_done, done, name in ((is_load, loads, "loads"), (is_store, stores, "stores")):
                if is_done:
                    done[key.space] += count
                    bytes_of[name] += asked.bytes * (key.space == "global")
                    done["picture"] += count * (key.array == picture)
        for block in run.machine.kernel.blocks:
            of_numbers = [one for one in block.instructions if one.modifiers[-1:] in (("f32",), ("f64",))]
            found = sum(one.name in ("mul", "fma") for one in of_numbers)
            products += found * run.counts.block_runs[block.number][1]
    return Work(
        flops=2 * products,
        global_loads=loads["global"],
        global_stores=stores["global"],
        global_load_bytes=bytes_of["loads"],
        global_store_bytes=bytes_of["stores"],
        minimum_bytes=0,
        picture_loads=loads["picture"],
        shared_loads=loads["shared"],
        shared_stores=stores["shared"],
        constant_loads=loads["const"],
    )


def check_executed(variant, problem, mask, image, block=None):
    """Run a variant's kernels in the simulator: the oracle's result, no fault, and what the model counts."""
    block = block or variant.default_block
    with observed(counted=True) as launches:
        result = result_of(variant, problem, mask, block, image)
    verified(result, image, mask, problem, variant.added_to(problem, mask, image))
    check_model(variant, problem, block, launches)
    return result


def is_as_modelled(variant, case):
    """Return whether the model of a kernel's work counts what its code does on a case.

    What a mirror shows of one row or column it takes for cells. In kernels with blocks of their own the
    compiler loads 8 and 16 bits for ghost cells too and then takes their value instead, and saves some of the
    products of `box` for several channels.
    """
    if case.border is Border.MIRROR and 1 in (case.height, case.width):
        return False
    if variant.uses_block or case.dtype == "float32":
        return True
    has_value = case.border in (Border.ZERO, Border.CONSTANT)
    return not has_value and (variant.key != "box" or case.channels == 1)


def check_all(variant, case, *where):
    """Check a kernel on a case in the simulator, its code, and that its model counts what that does.

    Of a large picture nothing is counted.
    """
    problem = case.problem()
    is_counted = case.height * case.width < MOST_COUNTED and is_as_modelled(variant, case)
    with older.numbas_part_kept(), observed(counted=is_counted) as launches:
        check(variant, case, *where)
        for step in {id(one.step): one.step for one in launches}.values():
            # For older devices the case that all kernels have, and those of 8 and 16 bits.
            is_for_all = case.name == "one" or case.is_quantised
            found = older.checked_filter(variant, case, step) if is_for_all else [compiled(step)]
            assert_as_planned(found[0], step.launch, sums_in_float64=variant.float64_sums)
    for ptx in found:
        assert_rounded(ptx, problem.result_dtype)
    if is_counted and variant.key in WITH_BYTES and byte_tile_shape(problem) is not None:
        check_model_of_bytes(variant, case, launches)
    elif is_counted and not variant.uint8_only:
        check_model(variant, problem, case.block, launches)


def check_model_of_bytes(variant, case, launches):
    """Check that a model of tiles of bytes counts what launches did, copies of four at once."""
    problem = case.problem()
    assert byte_tile_shape(problem) is not None
    found, model = executed(launches), variant.work(problem, variant.default_block)
    # At an edge only those cells are filled that a result reads; the model counts whole tiles.
    assert model.picture_loads >= found.picture_loads > 0
    assert model.shared_stores >= 4 * found.shared_stores > 0
    # It counts weights of one digit.
    assert model.shared_loads == 4 * found.shared_loads or case.weights != "halves"
    assert model.global_store_bytes == found.global_store_bytes


def check_model(variant, problem, block, launches):
    """Check that a kernel's model of work counts what launches did."""
    model, found = variant.work(problem, block), executed(launches)
    # The compiler decides how long a thread keeps weights of constant memory in registers, and may load four
    # for three.
    fours = model.constant_loads // problem.taps * -(-problem.taps // 4) * 4
    if variant.uses_block:
        assert found.constant_loads in (model.constant_loads, fours)
    else:
        assert bool(found.constant_loads) == bool(model.constant_loads)
    least = {"minimum_bytes": model.minimum_bytes, "constant_loads": model.constant_loads}
    assert replace(found, **least) == model
