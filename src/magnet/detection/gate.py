"""Does the neighbourhood say anything about the rows?"""

from __future__ import annotations

from dataclasses import dataclass

from magnet.detection.base import Gate
from magnet.detection.two_groups import FloatArray


@dataclass(frozen=True)
class Evidence:
    """What the gate looks at.

    Args:
        power: AUROC of real against permuted pairs in the first round.
        rows: rows with evidence.
        share: estimated share of wrong rows at the end.
        tail: the same, from the lowest tenth of the null alone.
        rho: the probabilities of these rows.
    """

    power: float
    rows: int
    share: float
    tail: float
    rho: FloatArray


def judge(evidence: Evidence | None) -> Gate:
    """Open where rows may be flagged."""
    if evidence is None:
        return Gate(False, 0.5, "fewer than 10 rows have neighbours and values: too few to compare")
    return Gate(True, evidence.power, "")
