"""What a job on a picture computes with."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from engine.geometry.layout import Layout

C = TypeVar("C")


@dataclass(frozen=True, slots=True, eq=False)
class Operands(Generic[C]):
    """A picture (H, W, C) of the problem's dtype, with what its variant is compiled with."""

    samples: np.ndarray
    constant: C  # a mask, the patch to find or None, the planned steps
    layout: Layout = Layout.PITCHED
