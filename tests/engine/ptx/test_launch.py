"""Launches: what runs, what is counted, how a launch ends, what is refused, and the trace of a block."""

import gc
import weakref

import numpy as np
import pytest

from engine import ptx
from engine.ptx import launch
from tests.engine.ptx.written import faults, launched, module

WRITE = "st.global.u32 [%d3], %r2;"
SUM = (
    "ld.global.u32 %r2, [%d2];",
    "st.shared.u32 [%s], %r2;",
    "bar.sync 0;",
    "xor.b32 %r1, %s, 4; ld.shared.u32 %r3, [%r1];",
    "add.u32 %r2, %r2, %r3;",
    WRITE,
)


def test_that_chunks_of_blocks_change_nothing(monkeypatch):
    whole, wanted = launched(*SUM, blocks=5)
    monkeypatch.setattr(launch, "CHUNK_THREADS", 64)
    parts, out = launched(*SUM, blocks=5)
    assert out.tolist() == wanted.tolist() == [2 * (i // 2 * 2) + 1 for i in range(320)]
    assert parts.counts.accesses == whole.counts.accesses
    assert parts.counts.launch_sectors == whole.counts.launch_sectors
    assert parts.counts.barriers == whole.counts.barriers == 10


# Of one warp: of loads from global memory bytes between threads, what is loaded, sectors and transactions.
LOADED = [
    (4, "u32 %r2, [%d5]", 4, 1),  # neighbours: 128 bytes
    (4, "u32 %r2, [%d5+4]", 5, 2),
    (4, "u32 %r2, [%d5+32]", 4, 2),
    (-4, "u32 %r2, [%d5+124]", 4, 1),  # the order does not matter
    (8, "u32 %r2, [%d5]", 8, 2),
    (32, "u32 %r2, [%d5]", 32, 8),
    (0, "u32 %r2, [%d5]", 1, 1),
    (1, "u8 %r2, [%d5]", 1, 1),
    (3, "u8 %r2, [%d5]", 3, 1),  # one channel of an RGB picture of 8 bit
    (8, "v2.u32 {%r2, %r3}, [%d5]", 8, 2),
    (16, "v4.u32 {%r2, %r3, %r4, %r5}, [%d5]", 16, 4),
    (128, "u32 %r2, [%d5]", 3, 3),  # by three threads
]
# Of stores to shared memory the same, and wavefronts by all threads and by the first half.
STORED = [
    (0, "u32 [%r1], %t", 1, 1),  # one word for all
    (4, "u32 [%r1], %t", 1, 1),
    (1, "u8 [%r1], %t", 1, 1),  # four threads a word
    (8, "u32 [%r1], %t", 2, 1),
    (12, "u32 [%r1], %t", 1, 1),  # odd strides meet no bank twice
    (128, "u32 [%r1], %t", 32, 16),  # a tile's column
    (132, "u32 [%r1], %t", 1, 1),  # with a cell more in each row
    (8, "v2.u32 [%r1], {%t, %t}", 2, 1),
    (16, "v4.u32 [%r1], {%t, %t, %t, %t}", 4, 2),
    (32, "v4.u32 [%r1], {%t, %t, %t, %t}", 8, 4),
]
CONSTANT = {"[weights+8]": 1, "[%d5]": 32}


def test_that_requests_are_counted_as_the_hardware_serves_them():
    weights, lanes = ".const .align 4 .b8 weights[128];", "setp.lt.u32 %p1, %t, {};"

    def total_of(space, kind, *lines):
        run, _ = launched(*lines, WRITE, blocks=3, threads=32, values=256, before=weights)
        total = run.counts.total(space, kind)
        assert total.requests == 3
        return total

    for apart, loaded, *wanted in LOADED:
        lines = f"mul.wide.s32 %d5, %t, {apart}; add.u64 %d5, %d5, %d0;", f"@%p1 ld.global.{loaded};"
        found = total_of(
            "global", "loads", "mov.u32 %r2, 0;", lanes.format(3 if apart == 128 else 32), *lines
        )
        assert [found.sectors, found.transactions] == [3 * one for one in wanted]
    for apart, stored, *wanted in STORED:
        lines = f"mov.u32 %r1, tile; mad.lo.u32 %r1, %t, {apart}, %r1;", f"@%p1 st.shared.{stored};"
        for count, each in zip((32, 16), wanted, strict=True):
            found = total_of("shared", "stores", "mov.u32 %r2, 0;", lanes.format(count), *lines)
            assert found.wavefronts == 3 * each
    for place, each in CONSTANT.items():
        lines = "mov.u64 %d5, weights; mad.wide.u32 %d5, %t, 4, %d5;", f"ld.const.u32 %r2, {place};"
        assert total_of("const", "loads", *lines).wavefronts == 3 * each


CALLED = """.func (.param .b32 result) twice(.param .b32 given)
{ .reg .b32 %x<3>; ld.param.u32 %x0, [given]; BODY st.param.b32 [result], %x0; ret; }"""
PASS = "{ .param .b32 g; st.param.b32 [g], %t; .param .b32 r; "
CALL = f"{PASS} call.uni (r), twice, (g); ld.param.b32 %r2, [r]; }}"
CALLED_AGAIN = CALL.replace("%t", "%x0").replace("%r2", "%x1")
REDUCED = (
    "setp.lt.u32 %p1, %t, 40;",
    "setp.eq.u32 %p3, %b, 0; @%p3 bra ON;",
    "setp.lt.u32 %p1, %t, 64;",
    "ON: bar.red.popc.u32 %r2, 0, %p1;",
    "bar.red.and.pred %p4, 0, %p1; bar.red.or.pred %p5, 0, !%p1;",
    "selp.u32 %r3, 1000, 0, %p4; selp.u32 %r4, 10000, 0, %p5;",
    "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;",
)
# t - 2 is -1 for t = 1, and only that has a carry when 1 is added; t - 1 borrows for t = 0.
CARRIES = (
    "sub.u32 %r1, %t, 2;",
    "add.cc.u32 %r2, %r1, 1; addc.u32 %r2, %t, 0;",
    "sub.cc.u32 %r3, %t, 1; subc.u32 %r3, 100, 0;",
    "mad.lo.u32 %r2, %r2, 1000, %r3;",
)
EXCHANGED = (
    "setp.lt.u32 %p1, %t, 16; mov.u32 %r2, 700;", "@%p1 shfl.sync.bfly.b32 %r2, %t, 1, 31, 0xffff;",
)  # fmt: skip
# 1 above 2, and 2 above 1, as float16.
HALVES = "mov.u32 %r1, 0x3c004000;", "min.f16x2 %r2, %r1, 0x40003c00;"
COMPUTED = {
    "a reduction at a barrier is of the whole block": (REDUCED, 2, 64, [10040] * 64 + [1064] * 64),
    "carries go from one instruction to the next": (CARRIES, 1, 4, [99, 2100, 2100, 3100]),
    "lanes whose guard holds exchange values": (
        EXCHANGED, 1, 32, [t ^ 1 for t in range(16)] + [700] * 16,
    ),
    "both halves of a register are compared": (HALVES, 1, 64, [0x3C003C00] * 64),
    "a call runs": ((CALL,), 1, 64, [2 * t for t in range(64)]),
}  # fmt: skip


def test_that_threads_compute_what_their_instructions_say():
    called = CALLED.replace("BODY", "add.u32 %x0, %x0, %x0;")
    for name, (lines, blocks, threads, wanted) in COMPUTED.items():
        run, out = launched(*lines, WRITE, blocks=blocks, threads=threads, before=called)
        assert (faults(run), out.tolist()) == ([], wanted), name


class Stopped(Exception):
    """What a checkpoint raises."""


def test_that_a_checkpoint_ends_a_run():
    def stop(done):
        raise Stopped

    with pytest.raises(Stopped):
        launched("LOOP: add.u32 %r2, %r2, 1;", "bra LOOP;", checkpoint=stop)


def test_that_ptx_from_6_to_9_is_read():
    for target in ["sm_75", "sm_90a", "sm_121"]:
        for version in ["6.0", "7.8", "8.8", "9.1"]:
            arrays = [ptx.Array(name, np.zeros(32, np.uint32), name == "out") for name in ("a", "out")]
            text = module("st.global.u32 [%d3], %t;", version=version, target=target)
            ptx.run(text, "k", (1,), (32,), arrays)
            assert arrays[1].values.tolist() == list(range(32))


REFUSED = [
    (("mov.u32 %r1, 0;", "wgmma.fence.sync.aligned;"), "", 2),
    (("add.rz.u32 %r1, %r1, 1;",), "", 1),
    (("mov.u32 %r1, %clock;",), "", 1),
    (("mov.u32 %r1, 0;", "mov.u32 %r1, %r99;"), "", 2),
    # What inline assembly of CUDA C may have: NVRTC reads none of it.
    *(((text,), "", 1) for text in ("bra NOWHERE;", "bra;", "ld.global.u32 %r1;")),
    *(((text,), "", 1) for text in ("mov.u32 %r1, %tid;", "mov.u32 %r1, 0fZZ;", "cp.async.wait_group %r1;")),
    ((CALL,), ".extern .func (.param .b32 result) twice(.param .b32 given);", 1),
    ((CALL,), CALLED.replace("BODY", f"\n.loc 1 7 0\n{CALLED_AGAIN}"), 7),
    # A launch without room.
    (("st.global.u32 [%d3], %t;",), ".shared .align 4 .b8 more[60000];", 0),
    (("st.global.u32 [%d3], %t;",), ".global .align 4 .b8 huge[8000000000];", 0),
]


def test_that_what_is_not_known_is_refused_with_its_line():
    for lines, before, line in REFUSED:
        with pytest.raises(ptx.PtxError) as error:
            launched(*lines, WRITE, before=before)
        assert error.value.line == line


def test_that_each_access_is_told():
    seen = []

    def note(access):
        offsets = np.broadcast_to(access.offsets, (access.active.count,)).tolist()
        seen.append((access.instruction.line.line, access.segment.name, access.segment.space, offsets))

    run, _ = launched(*SUM, blocks=3, chosen_blocks=[(1, 0, 0)], on_access=note)
    assert faults(run) == []
    there = [4 * (64 + t) for t in range(64)]
    assert seen[0] == (1, "a", "global", there)
    assert seen[1] == (2, "shared memory", "shared", [4 * t for t in range(64)])
    assert (seen[2][0], seen[2][3]) == (4, [4 * (t ^ 1) for t in range(64)])
    assert (seen[3][0], seen[3][3]) == (6, there)


def test_that_a_trace_has_the_steps_of_one_block():
    run, out = launched(*SUM, blocks=3, trace=(1, 0, 0))
    plain, _ = launched(*SUM, blocks=3)
    assert plain.trace == ()
    assert run.trace_is_whole
    assert faults(run) == []
    load, store, read, result, barrier = (
        next(step for step in run.trace if step.text.startswith(opcode))
        for opcode in ("ld.global", "st.shared", "ld.shared", "st.global", "bar.sync")
    )
    assert [one.line.line for one in (load, store, barrier, read, result)] == [1, 2, 3, 4, 6]
    assert load.threads.tolist() == list(range(64))
    assert (load.array, load.space) == ("a", "global")
    assert load.addresses.tolist() == [4 * (64 + t) for t in range(64)]
    assert load.values.tolist() == [64 + t for t in range(64)]
    assert store.addresses.tolist() == [4 * t for t in range(64)]
    assert read.values.tolist() == [64 + (t ^ 1) for t in range(64)]
    assert result.values.tolist() == out[64:128].tolist()
    assert barrier.threads.tolist() == list(range(64))


def test_that_threads_whose_guard_does_not_hold_access_nothing_and_have_no_step_in_a_trace():
    lines = "setp.lt.u32 %p1, %t, 5; mov.u32 %r3, 300;", "LOOP: @%p1 ld.global.u32 %r2, [%d2];"
    more = "sub.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0;", "@%p2 bra LOOP;", "st.global.u32 [%d3], %t;"
    accesses = []
    run, _ = launched(*lines, *more, blocks=1, trace=(0, 0, 0), on_access=accesses.append)
    loads = [one.active.slots.tolist() for one in accesses if one.instruction.name == "ld"]
    steps = [step.threads.tolist() for step in run.trace if step.line.line == 2]
    assert loads == steps == [[0, 1, 2, 3, 4]] * 300


def test_that_a_trace_is_bounded(monkeypatch):
    monkeypatch.setattr("engine.ptx.launch.MOST_BYTES", 10_000)
    run, out = launched(*SUM, trace=(0, 0, 0))
    assert not run.trace_is_whole
    assert 0 < len(run.trace) < 30
    assert out.tolist() == launched(*SUM)[1].tolist()


def test_that_the_memory_of_a_launch_goes_with_its_result():
    gc.disable()
    try:
        for trace in (None, (0, 0, 0)):
            run, _ = launched(*SUM, trace=trace)
            machine = weakref.ref(run.machine)
            del run
            assert machine() is None
    finally:
        gc.enable()
