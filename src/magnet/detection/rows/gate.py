"""The gate: does the neighborhood carry enough information about the rows to call one of them swapped?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from magnet.detection.options import GATE
from magnet.detection.rows.local_fdr import FloatArray


@dataclass(frozen=True)
class Gate:
    """Whether the neighborhood carries information about the rows.

    Args:
        open: rows may be flagged.
        power: AUROC of "this row at its own node" against "another row at this node".
        reason: why it is closed, in words.
        adjusted: the power on the rows that are right, as far as it can be estimated.
        cells: cells may be compared with their context: rows are not exchangeable over nodes.
        false_share: expected share of right rows among the flagged ones.
    """

    open: bool
    power: float
    reason: str
    adjusted: float = float("nan")
    cells: bool = False
    false_share: float = float("nan")


@dataclass(frozen=True)
class GateEvidence:
    """What the gate looks at.

    Args:
        power: AUROC of real against permuted pairs in the first round, in which no row has been judged yet. (In later
            rounds rows that disagree with their neighbors count less in the contexts, so that contexts agree with rows
            even where rows were shuffled over the nodes.)
        error: its standard error, see :func:`power_and_error`.
        share: estimated share of swapped rows.
    """

    power: float
    error: float
    share: float


def power_and_error(real: FloatArray, null: FloatArray) -> tuple[float, float]:
    r"""AUROC of real pairs ``[n]`` against permuted pairs ``[n, K]`` (NaN for none), and its standard error.

    Every probe k is one row at all nodes, so its pairs are one draw and not n: DeLong's variance with the probes as
    clusters. (With one column, ``K = 1``, every node has a row of its own, and every pair is a draw.)

    .. math::
        \frac{\mathrm{var}_i \, P(\text{null} < r_i)}{n} + \frac{\mathrm{var}_k \, P(r > \text{null}_k)}{K} .

    Example:
        >>> rng = np.random.default_rng(0)
        >>> power, error = power_and_error(rng.normal(size=500), rng.normal(size=(500, 40)) + rng.normal(size=40))
        >>> bool(abs(power - 0.5) < 3 * error), bool(error > 0.03)
        (True, True)
    """
    known = np.isfinite(null)
    pooled = np.sort(null[known])
    order = np.argsort(real)  # in order, the places are found near one another
    ordered, below = real[order], np.empty(real.size)
    below[order] = (np.searchsorted(pooled, ordered, "left") + np.searchsorted(pooled, ordered, "right")) / (
        2 * pooled.size
    )
    ranks = [np.searchsorted(ordered, np.sort(null[known[:, k], k])) for k in np.flatnonzero(known.any(axis=0))]
    by_probe = 1 - (ranks[0] if len(ranks) == 1 else np.array([of_probe.mean() for of_probe in ranks])) / real.size
    return float(below.mean()), math.sqrt(below.var() / real.size + by_probe.var() / by_probe.size)


def expected_false_share(auroc: float, share: float) -> float:
    r"""The share of right rows among those of which :math:`\rho > 1/2`, for a power on right rows and a share ``s`` of
    swapped ones.

    On the scale on which permuted rows are standard normal, let right rows be normal around :math:`d = \sqrt 2 \,
    \Phi^{-1}(\text{AUROC})` (the binormal model). Then :math:`\rho > 1/2` below :math:`t = d / 2 + \log(s / (1 - s)) /
    d`, and the false share is

    .. math::
        \frac{(1 - s) \Phi(t - d)}{(1 - s) \Phi(t - d) + s \Phi(t)} .

    Example:
        >>> [round(expected_false_share(auroc, 0.2), 2) for auroc in (0.5, 0.75, 0.85, 0.95)]
        [1.0, 0.39, 0.31, 0.18]
    """
    if not 0.5 < auroc < 1 or not 0 < share < 1:
        return 0.0 if auroc >= 1 else 1.0
    d, t = _binormal(auroc, share)
    false, true = (1 - share) * float(norm.cdf(t - d)), share * float(norm.cdf(t))
    return false / (false + true) if false + true > 0 else 1.0


def expected_recall(auroc: float, share: float) -> float:
    """The part :math:`\\Phi(t)` of the swapped rows of which :math:`\\rho > 1/2`, in the same model.

    Example:
        >>> [round(expected_recall(auroc, 0.001), 4) for auroc in (0.5, 0.85, 0.95, 0.99)]
        [0.0, 0.0, 0.0355, 0.3248]
    """
    if not 0.5 < auroc < 1 or not 0 < share < 1:
        return 1.0 if auroc >= 1 else 0.0
    return float(norm.cdf(_binormal(auroc, share)[1]))


def _binormal(auroc: float, share: float) -> tuple[float, float]:
    """``d`` and ``t``."""
    d = math.sqrt(2) * float(norm.ppf(auroc))
    return d, d / 2 + math.log(share / (1 - share)) / d


def judge_gate(evidence: GateEvidence | None) -> Gate:
    r"""Open where rows may be flagged. Two questions:

    1. Are rows exchangeable over nodes? A one-sided test of power = 1/2 at level ``GATE.level``: on a graph without
       information about the rows the gate opens with at most this probability.
    2. Would the flagged rows be wrong? Swapped rows look like permuted ones, so a share ``s`` of them pulls the power
       toward 1/2: it is :math:`s / 2 + (1 - s) A`. From ``A``, the power on right rows, follows the expected share of
       false alarms, :func:`expected_false_share`; its upper confidence limit may be at most ``GATE.max_false_share``.
    """
    if evidence is None:
        return Gate(False, 0.5, "fewer than 10 rows have both neighbors and values")
    power, share = evidence.power, evidence.share
    if power < 0.5 + float(norm.isf(GATE.level)) * evidence.error:
        reason = f"neighbors carry no information about the rows (AUROC {power:.2f})"
        return Gate(False, power, reason)
    if share > GATE.max_share:
        reason = f"{share:.0%} of the rows do not fit their neighbors (AUROC {power:.2f}): too many to be judged"
        return Gate(False, power, reason, cells=True)
    adjusted = min(1.0, (power - share / 2) / (1 - share))
    least = adjusted - float(norm.isf(GATE.confidence)) * evidence.error / (1 - share)
    false_share = expected_false_share(least, max(share, GATE.reference_share))
    if false_share > GATE.max_false_share:
        reason = (
            f"neighbors carry too little information about the rows (AUROC {adjusted:.2f} without "
            f"{share:.0%} swapped rows): up to {false_share:.0%} of the flagged rows would be correct "
            f"(limit {GATE.max_false_share:.0%})"
        )
        return Gate(False, power, reason, adjusted, True, false_share)
    return Gate(True, power, "", adjusted, True, false_share)
