"""Verification: how a result compares with the float64 oracle, and the sentence that says so."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verification:
    """How a result compares with the float64 oracle.

    Parameters
    ----------
    passed : bool
        Every checked sample lies within its own rounding bound.
    max_error : float
        Largest |result - oracle| among the checked samples.
    bound : float
        Rounding bound at that very sample.
    checked_pixels, total_pixels : int
        The whole picture where that is affordable; else the four edges, the corners and spread rectangles.
    exact : bool
        Whether every checked sample equals the oracle bit for bit (rounded to float32).
    reason : str
        Where it failed, in words; empty if it passed.
    in_steps : bool
        Whether `max_error` and `bound` are steps of a result of 8 or 16 bit; `exact` means then: equal to the oracle's,
        saturated and rounded half to even.
    """

    passed: bool
    max_error: float
    bound: float
    checked_pixels: int
    total_pixels: int
    exact: bool
    reason: str = ""
    in_steps: bool = False

    @property
    def sentence(self) -> str:
        """The verification in words for people."""
        return self.sentence_of("pixel")

    def sentence_of(self, unit: str) -> str:
        """Return the verification in words for people, where "pixel" or "element" is what was checked."""
        if not self.passed:
            return self.reason
        share = (
            f"every {unit}"
            if self.checked_pixels == self.total_pixels
            else f"{self.checked_pixels:,} of {self.total_pixels:,} {unit}s"
        )
        if self.exact:
            return f"verified on {share}, equal to the float64 oracle" + (
                ", rounded" if self.in_steps else ""
            )
        if self.in_steps:
            plural = "" if self.max_error == 1.0 else "s"
            return f"verified on {share}, max error {self.max_error:.0f} step{plural}, within rounding"
        return f"verified on {share}, max error {self.max_error:.2g}, rounding bound {self.bound:.2g}"
