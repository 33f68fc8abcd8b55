import numpy as np
import pytest

from engine.errors import MaskError
from engine.mask.bank import Bank
from engine.mask.mask import Mask

EDGES = Bank((Mask([[1, 0, -1]], offset=2.5), Mask([[3, 4, 5]]), Mask([[0, 1, 0]], offset=-1)))


def test_that_each_mask_is_a_row_of_the_matrix_with_its_own_offset():
    bank = Bank((Mask([[1, 2], [3, 4], [5, 6]]), Mask([[7, 8], [9, 10], [11, 12]])))
    assert bank.weight_matrix.tolist() == [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]
    assert bank.weight_matrix.flags.c_contiguous
    assert (len(bank), bank.shape, bank.anchor, bank.name) == (2, (3, 2), (1, 1), "bank of 2, 3 x 2")
    assert EDGES.offsets32.tolist() == [2.5, 0.0, -1.0]
    assert EDGES.offsets32.dtype == bank.weight_matrix.dtype == np.float32


def test_that_a_flipped_bank_turns_every_mask_and_the_anchor():
    bank = Bank((Mask([[1, 2]], (0, 0)), Mask([[3, 4]], (0, 0)))).flipped()
    assert (bank.weight_matrix.tolist(), bank.anchor) == ([[2, 1], [4, 3]], (0, 1))


TALL, SHIFTED = Mask([[1], [2], [3]]), Mask([[1, 2, 3]], (0, 2))
REFUSED = {
    (): r"there is none\. Give at least one mask",
    (*EDGES.masks[:2], TALL): "mask 1 has 1 x 3 cells and mask 3 has 3 x 1.* zeros around it",
    (*EDGES.masks[:2], SHIFTED): r"anchor at \(0, 1\) and mask 3 at \(0, 2\).*one after another",
}


@pytest.mark.parametrize(("masks", "says"), REFUSED.items(), ids=["none", "shape", "anchor"])
def test_that_no_mask_and_masks_that_do_not_go_together_are_refused(masks, says):
    with pytest.raises(MaskError, match=says):
        Bank(masks)
