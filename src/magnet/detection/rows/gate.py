"""The gate: does the neighborhood carry information about the rows?"""

from __future__ import annotations

from dataclasses import dataclass

from magnet.detection.options import GATE


@dataclass(frozen=True)
class Gate:
    """Whether the neighborhood carries information about the rows.

    Args:
        open: rows may be flagged.
        power: AUROC of "this row at its own node" against "another row at this node".
        reason: why it is closed, in words.
        adjusted: the power on the rows that are right, as far as it can be estimated.
        cells: cells may be compared with their context, which takes less than to call a whole row swapped.
    """

    open: bool
    power: float
    reason: str
    adjusted: float = float("nan")
    cells: bool = False


@dataclass(frozen=True)
class GateEvidence:
    """What the gate looks at.

    Args:
        power: AUROC of real against permuted pairs in the first round.
        final: the same in the last round, in the stratum (rows that occur once, twice, more often) with most right
            rows.
        rows: rows with evidence.
        share: estimated share of swapped rows in that stratum.
    """

    power: float
    final: float
    rows: int
    share: float


def judge_gate(evidence: GateEvidence | None) -> Gate:
    r"""Open where rows may be flagged.

    Swapped rows look like permuted ones, so a share ``s`` of them pulls the power towards 1/2: it is
    :math:`s / 2 + (1 - s) A`. The gate asks for ``A``, the power on the rows that are right, and for a power that
    permuted rows would not give.
    """
    if evidence is None:
        return Gate(False, 0.5, "fewer than 10 rows have neighbors and values: too few to compare")
    if evidence.share >= 1:
        return Gate(False, evidence.power, "every row looks like a row from elsewhere")
    adjusted = (evidence.final - evidence.share / 2) / (1 - evidence.share)
    error = (12 * evidence.rows) ** -0.5
    if evidence.power < 0.5 + GATE.standard_errors * error:
        reason = f"the neighbors say no more about a row than about any other (AUROC {evidence.power:.2f})"
        return Gate(False, evidence.power, reason, adjusted)
    if adjusted < GATE.required_power:
        reason = (
            f"the neighbors say too little about a row (AUROC {adjusted:.2f}, allowing for {evidence.share:.0%} of "
            f"swapped rows; {GATE.required_power:.2f} is needed)"
        )
        return Gate(False, evidence.power, reason, adjusted, adjusted >= GATE.required_cell_power)
    return Gate(True, evidence.power, "", adjusted, True)
