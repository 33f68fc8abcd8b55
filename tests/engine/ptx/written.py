"""Kernels of PTX written by hand: a few lines between a beginning and an end that all have.

Line n of a kernel has the line number n. Before them, of thread t in block b with i = b * threads + t: `%t`,
`%b`, `%i`; `%d0` and `%d1` are the addresses of `a` and `out`, `%d2` and `%d3` those of their value i, and
`%s` is the address of value t in the shared array `tile`.
"""

import numpy as np

from engine import ptx

BEGINNING = """
.reg .b32 %t, %b, %i, %s, %n, %r<20>;
.reg .b64 %d<20>;
.reg .pred %p<8>;
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %b, %n, %t;
ld.param.u64 %d0, [a]; ld.param.u64 %d1, [out];
mad.wide.u32 %d2, %i, 4, %d0; mad.wide.u32 %d3, %i, 4, %d1;
mov.u32 %s, tile; mad.lo.u32 %s, %t, 4, %s;
"""


def module(*lines: str, version: str = "8.0", target: str = "sm_80", before: str = "") -> str:
    """Return a module with the kernel `k(a, out)`; `before` comes in front of it."""
    body = "\n".join(f".loc 1 {number} 0\n{line}" for number, line in enumerate(lines, 1))
    return (
        f".version {version}\n.target {target}\n.address_size 64\n"
        f".shared .align 16 .b8 tile[8192];\n{before}\n"
        f".visible .entry k(.param .u64 a, .param .u64 out)\n{{\n{BEGINNING}{body}\nret;\n}}\n"
        '.file 1 "k.cu"\n'
    )


def launched(
    *lines: str, blocks: int = 2, threads: int = 64, values: int | None = None, before: str = "", **more
):
    """Return the run, and what the kernel wrote; `a` has the numbers from 0 on, `out` begins unwritten."""
    count = blocks * threads if values is None else values
    out = ptx.Array("out", np.zeros(count, np.uint32), True)
    arrays = [ptx.Array("a", np.arange(count, dtype=np.uint32)), out]
    return ptx.run(module(*lines, before=before), "k", (blocks,), (threads,), arrays, **more), out.values


def faults(run) -> list[tuple[str, tuple[int, ...]]]:
    """Return the kind and the lines of each finding."""
    return [(one.kind, tuple(line.line for line in one.lines)) for one in run.findings]
