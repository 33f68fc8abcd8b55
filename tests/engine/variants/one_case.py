"""One case of each teaching kernel, so that tests of several rooms look at the same compiled code."""

from dataclasses import replace

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.work.filtering.variants import VARIANTS
from tests.engine.variants.case_lists import suited
from tests.engine.variants.cases import Case

TAUGHT = tuple(one for one in VARIANTS if one.has_kernels and one.uses_block)


def one_case(known, **changed):
    """Return a case: each kernel has one block and one border, the next one the others.

    Code depends on the mask's shape, the border, the block and the types; what is `changed` may be the rest.
    """
    is_odd = TAUGHT.index(known) % 2
    block, border = (Block(2, 5), Border.WRAP) if is_odd else (Block(4, 3), Border.CONSTANT)
    case = Case("one", 7, 10, mask_shape=(3, 4), anchor=(0, 3), block=block, border=border)
    return suited(known, replace(case, **changed))
