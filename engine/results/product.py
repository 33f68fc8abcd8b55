"""What a product of matrices leaves behind: raw samples, proof, counted work, and the lecture's limit. No Numba in here.

A product that failed is a result too, with its reason in place of its times; what could be counted is there all the same.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from engine.device_info import Environment
from engine.errors import BadValue
from engine.results.measurement import Timing
from engine.results.read import (
    environment_from_json,
    number,
    optional,
    timing_from_json,
    typed,
    verification_from_json,
    work_from_json,
)
from engine.tasks.product.lecture import LECTURE_BANDWIDTH_GB_S, bandwidth_limited_gflops
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.work import Work
from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True)
class MatmulResult:
    """One way to multiply, with one tile, on one product: its times and its proof, or why there are none.

    Parameters
    ----------
    variant, title : str
        Key and name.
    device : str
        Key of the device: "cpu", "cuda:0", "simulator".
    product : MatrixProduct
    tile : int, optional
        None where the variant has none.
    environment : Environment
    timing : Timing, optional
        None where it failed, was not verified, was not asked for, or where times mean nothing (the simulator).
    verification : Verification, optional
        Its pixels are the elements of C.
    failure : str
        What, why and what to do, in one line; empty if it succeeded.
    seed : int
        Of the matrices and of the rectangles that were verified.
    work : Work, optional
        What the kernel asks of the machine, by construction; None where nobody can say.
    bandwidth_gb_s : float, optional
        Theoretical bandwidth of the device's global memory, GB/s; None where it is not known.
    refused : bool
        Whether the failure is that this cannot be done (that tile, that size, that device), so that nothing was tried.
    """

    variant: str
    title: str
    device: str
    product: MatrixProduct
    tile: int | None
    environment: Environment
    timing: Timing | None = None
    verification: Verification | None = None
    failure: str = ""
    seed: int = 0
    work: Work | None = None
    bandwidth_gb_s: float | None = None
    refused: bool = False

    @property
    def kernel_ms(self) -> float | None:
        """Median kernel time, ms, of a verified product; None otherwise: what is not verified has no speed."""
        if self.timing is None or self.verification is None or not self.verification.passed:
            return None
        return self.timing.kernel.median_ms

    @property
    def gflops(self) -> float | None:
        """Operations of the definition a second, GFLOPS: two for each multiply-add."""
        kernel_ms = self.kernel_ms
        return self.product.flops / kernel_ms / 1e6 if kernel_ms else None

    @property
    def cgma(self) -> float | None:
        """Operations of the definition for each load from global memory; zeros that fill a tile do not count."""
        return self.product.flops / self.work.global_loads if self.work else None

    @property
    def lecture_gflops(self) -> float | None:
        """What the lecture's 86.4 GB/s allow, GFLOPS."""
        return None if self.cgma is None else bandwidth_limited_gflops(self.cgma, LECTURE_BANDWIDTH_GB_S)

    @property
    def limited_gflops(self) -> float | None:
        """What this device's bandwidth allows, GFLOPS, if nothing is left to the caches."""
        if self.cgma is None or self.bandwidth_gb_s is None:
            return None
        return bandwidth_limited_gflops(self.cgma, self.bandwidth_gb_s)

    @property
    def share_of_limit(self) -> float | None:
        """Reached over bandwidth-limited GFLOPS; more than 1 where the caches serve what the count asks of memory."""
        if self.gflops is None or self.limited_gflops is None:
            return None
        return self.gflops / self.limited_gflops

    @property
    def is_proven(self) -> bool:
        """Whether it was computed and agrees with the oracle."""
        return not self.failure and self.verification is not None and self.verification.passed

    @property
    def status(self) -> str:
        """Verified, or why not, in words."""
        if self.failure:
            return self.failure
        return self.verification.sentence_of("element") if self.verification else "not run yet"

    def as_json(self) -> dict[str, Any]:
        """Return the result as plain data for JSON: raw samples, medians, proof, counts, machine, versions."""
        return dataclasses.asdict(self) | {
            "timing": self.timing.as_json() if self.timing else None,
            "gflops": self.gflops,
            "cgma": self.cgma,
            "lecture_gflops": self.lecture_gflops,
            "limited_gflops": self.limited_gflops,
            "share_of_limit": self.share_of_limit,
            "status": self.status,
        }


def matmul_result_from_json(data: Any) -> MatmulResult:
    """Return the result that `MatmulResult.as_json` described; what it derived is derived anew.

    Parameters
    ----------
    data : object
        As `json.loads` gives it.

    Raises
    ------
    BadValue
        A part is missing, of another type, or out of range.
    """
    try:
        sides = {name: typed(int, data["product"], name) for name in ("rows", "inner", "columns")}
        return MatmulResult(
            **{name: typed(str, data, name) for name in ("variant", "title", "device", "failure")},
            product=MatrixProduct(**sides),
            tile=optional(data["tile"], lambda tile: typed(int, {"tile": tile}, "tile")),
            environment=environment_from_json(data["environment"]),
            timing=optional(data["timing"], timing_from_json),
            verification=optional(data["verification"], verification_from_json),
            seed=typed(int, data, "seed"),
            work=optional(data["work"], work_from_json),
            bandwidth_gb_s=optional(data["bandwidth_gb_s"], number),
            # Older results did not tell it.
            refused=typed(bool, data, "refused") if "refused" in data else False,
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BadValue("This is not the result of a product", reason, "Measure it again.") from error
