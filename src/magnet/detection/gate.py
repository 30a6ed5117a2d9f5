"""Does the neighbourhood say anything about the rows?"""

from __future__ import annotations

from dataclasses import dataclass

from magnet.detection.base import Gate


@dataclass(frozen=True)
class Evidence:
    """What the gate looks at.

    Args:
        power: AUROC of real against permuted pairs in the first round.
        final: the same in the last round, among the rows that occur once, twice or more often, whichever has most right
            ones.
        rows: rows with evidence.
        share: estimated share of wrong rows among those of ``final``.
    """

    power: float
    final: float
    rows: int
    share: float


# Calibrated on synthetic graphs by benchmarks/gate.py: above, five of six flagged rows are wrong and clean graphs are
# left alone; below, soon half of the flagged rows are right (results/gate.md).
NEEDED = 0.87
# Cells are judged with what the context is worth for each column, so less is enough there.
CELLS = 0.80
# Standard errors by which the power must differ from 1/2.
ERRORS = 4.0


def judge(evidence: Evidence | None) -> Gate:
    r"""Open where rows may be flagged.

    Replaced rows look like permuted ones, so a share ``s`` of them pulls the power towards 1/2: it is
    :math:`s / 2 + (1 - s) A`. The gate asks for ``A``, the power on the rows that are right, and for a power that
    shuffled rows would not give.
    """
    if evidence is None:
        return Gate(False, 0.5, "fewer than 10 rows have neighbours and values: too few to compare")
    if evidence.share >= 1:
        return Gate(False, evidence.power, "every row looks like a row from elsewhere")
    adjusted = (evidence.final - evidence.share / 2) / (1 - evidence.share)
    error = (12 * evidence.rows) ** -0.5
    if evidence.power < 0.5 + ERRORS * error:
        reason = f"the neighbours say no more about a row than about any other (AUROC {evidence.power:.2f})"
        return Gate(False, evidence.power, reason, adjusted)
    if adjusted < NEEDED:
        reason = (
            f"the neighbours say too little about a row (AUROC {adjusted:.2f}, allowing for {evidence.share:.0%} of "
            f"wrong rows; {NEEDED:.2f} is needed)"
        )
        return Gate(False, evidence.power, reason, adjusted, adjusted >= CELLS)
    return Gate(True, evidence.power, "", adjusted, True)
