"""What the interpreter finds: each fault with its kind and lines, and nothing where there is none."""

from tests.engine.ptx.written import faults, launched

# Each thread gives its own value to the next lane by shared memory.
OWN = "st.shared.u32 [%s], %t;"
NEXT = "xor.b32 %r1, %s, 4; ld.shared.u32 %r2, [%r1];"
FAR = "xor.b32 %r1, %s, 128; ld.shared.u32 %r2, [%r1];"
BARRIER, WARP = "bar.sync 0;", "bar.warp.sync 0xffffffff;"
RESULT = "st.global.u32 [%d3], %r2;"
COPY = "cp.async.ca.shared.global [%s], [%d2], 4;"
SOME = "setp.lt.u32 %p1, %t, 3; @%p1 bra BEHIND;"

FOUND = {
    "write, then read": ((OWN, NEXT, RESULT), [("race", (1, 2))]),
    "with a barrier": ((OWN, BARRIER, NEXT, RESULT), []),
    "read, then write": ((OWN, BARRIER, NEXT, OWN, RESULT), [("race", (3, 4))]),
    "two barriers": ((OWN, BARRIER, NEXT, BARRIER, OWN, RESULT), []),
    "two writes": (
        ("and.b32 %r1, %s, -8; st.shared.u32 [%r1], %t;", "mov.u32 %r2, 0; st.global.u32 [%d3], %r2;"),
        [("race", (1, 1))],
    ),
    "atomics": (("mov.u32 %r1, tile;", "atom.shared.exch.b32 %r2, [%r1], 1;", RESULT), []),
    "a barrier of the warp": ((OWN, WARP, NEXT, RESULT), []),
    "of the warp, for another warp": ((OWN, WARP, FAR, RESULT), [("race", (1, 3))]),
    "two blocks": (
        ("setp.eq.u32 %p1, %t, 0;", "@%p1 st.global.u32 [%d1], %b;", "st.global.u32 [%d3+256], %b;"),
        [("race", (2, 2)), ("outside", (3,))],
    ),
    "blocks with atomics": (("red.global.add.u32 [%d0], 1;", "st.global.u32 [%d3], 1;"), []),
    "a copy used before its wait": (
        (COPY, "cp.async.commit_group;", "ld.shared.u32 %r2, [%s];", RESULT),
        [("async", (1, 3))],
    ),
    "a copy of another thread without a barrier": (
        (COPY, "cp.async.wait_all;", NEXT, RESULT),
        [("race", (1, 3))],
    ),
    "a copy with its wait": ((COPY, "cp.async.wait_all;", BARRIER, NEXT, RESULT), []),
    "unwritten shared memory": (("ld.shared.u32 %r2, [%s];", RESULT), [("unwritten", (1,))]),
    "unwritten result": (("ld.global.u32 %r2, [%d3];", RESULT), [("unwritten", (1,))]),
    "unwritten local memory": (
        (".local .align 4 .b8 own[8];", "ld.local.u32 %r2, [own+4];", RESULT),
        [("unwritten", (2,))],
    ),
    "misaligned": (("ld.global.v2.u32 {%r2, %r3}, [%d0+4];", RESULT), [("misaligned", (1,))]),
    "a barrier that some never reach": (
        (SOME, BARRIER, "BEHIND: st.global.u32 [%d3], %t;"),
        [("barrier", (2,))],
    ),
    "two barriers at once": (
        (SOME, BARRIER, "bra END;", "BEHIND: bar.sync 0;", "END: st.global.u32 [%d3], %t;"),
        [("barrier", (2, 4))],
    ),
    "a shuffle with lanes that left": (
        (SOME, "shfl.sync.idx.b32 %r2, %t, 0, 31, 0xffffffff;", "BEHIND: st.global.u32 [%d3], %t;"),
        [("barrier", (2,))],
    ),
    "no array": (("mov.u64 %d5, 64;", "ld.global.u32 %r2, [%d5];", RESULT), [("outside", (2,))]),
}


def test_that_a_fault_is_found_with_its_lines():
    for name in FOUND:
        lines, wanted = FOUND[name]
        run, _ = launched(*lines)
        found = faults(run)
        assert [kind for kind, _ in found if kind not in dict(wanted)] == []
        assert {*wanted} <= {*found}


def test_that_an_access_outside_names_the_array_the_thread_and_the_block():
    run, _ = launched("ld.global.u32 %r2, [%d2+4];", "st.global.u32 [%d3], %r2;", blocks=3, threads=32)
    (one,) = run.findings
    assert (one.kind, one.array, one.thread, one.block) == ("outside", "a", (31, 0, 0), (2, 0, 0))


def test_that_a_variable_of_the_module_is_shared_by_all_blocks():
    lines = "mov.u64 %d5, kept; mad.wide.u32 %d5, %t, 4, %d5;", "st.global.u32 [%d5], %b;"
    run, _ = launched(*lines, "st.global.u32 [%d3], %t;", before=".global .align 4 .b8 kept[256];")
    assert faults(run) == [("race", (2, 2))]


def test_that_a_kernel_in_place_gets_its_reads_checked():
    """A write over what another block read is seen: reads of arrays that a kernel may write are noted."""
    lines = (
        "xor.b32 %r1, %i, 64; mad.wide.u32 %d5, %r1, 4, %d0;",
        "ld.global.u32 %r2, [%d5];",
        "st.global.u32 [%d2], %r2;",
        "st.global.u32 [%d3], %r2;",
    )
    run, out = launched(*lines)
    assert ("race", (2, 3)) in faults(run)
    assert out.tolist() == [one ^ 64 for one in range(128)]
