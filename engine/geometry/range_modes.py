"""What becomes of values outside the range of a picture, when they are shown or saved."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

RangeMode = Literal["clip", "absolute", "offset", "rescale"]

# What happens to values outside the range, each in a sentence, in the order in which they are offered.
RANGE_MODES: Mapping[RangeMode, str] = MappingProxyType(
    {
        "clip": "Values below 0 become 0 and values above full scale become full scale.",
        "absolute": "The sign is dropped, so that both directions of an edge are bright.",
        "offset": "Half of full scale is added, so that 0 is middle grey and negative values are darker.",
        "rescale": "The smallest value becomes 0 and the largest full scale; a constant picture becomes 0.",
    }
)
