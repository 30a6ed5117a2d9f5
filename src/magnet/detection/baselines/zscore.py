"""``zscore``: how far is each value from the middle of its column?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from magnet.detection.base import Detector
from magnet.detection.cells.context_model import ContextModel
from magnet.detection.cells.numeric import NumericModel
from magnet.detection.data.dataset import DetectionData
from magnet.detection.options import MIN_PROBABILITY
from magnet.detection.thresholds import empirical_bayes_share, log_odds
from magnet.detection.verdict import JudgedCells, Verdict

_SAMPLE = 4_000_000  # cells that the share is estimated on
_MAX_SHARE = 0.05  # of wrong cells: where more are far out, the column has heavy tails
_FIRST_SHARE, _TOLERANCE, _STEPS = 0.01, 1e-5, 20  # of the estimate of the share; it moves little after five steps
_NO_OUTLIER, _NOT_NUMERIC = -20.0, -60.0  # log ratios: no probability beside any share; less than any of a number


@dataclass(kw_only=True, eq=False, repr=False)
class ZScore(Detector):
    r"""The robust column z-score :math:`|x - \mathrm{median}| / (1.4826\,\mathrm{MAD})`; it does not look at the graph.

    The probability compares a wide (Cauchy) density with that of the column, a Student t distribution with the
    column's own tails (and a spike, for columns that are mostly one value), with an empirical-Bayes share of wrong
    cells for the whole table. 0/1 columns and categories have no outliers: their score is that of a binomial deviation,
    their probability 0.
    """

    def _detect(self, data: DetectionData) -> Verdict:
        model = NumericModel(ContextModel(data, torch.ones(data.num_nodes, device=data.device), local=False))
        cells = data.num_nodes * max(1, int(data.numeric.sum()))

        ratios = [_log_ratio(model, *r).flatten()[:: max(1, cells // _SAMPLE)] for r in data.ranges()]
        sample = torch.cat(ratios)

        def expected_share(share: float) -> float:
            return float(torch.sigmoid(sample + log_odds(share)).mean())

        share = empirical_bayes_share(
            expected_share, (MIN_PROBABILITY, _MAX_SHARE), _TOLERANCE, _STEPS, start=_FIRST_SHARE
        )
        judge = partial(_judge, model, log_odds(share))
        best, log_right = torch.zeros(2, data.num_nodes, device=data.device)
        for first, last in data.ranges():
            judged = judge(first, last)
            best = torch.maximum(best, judged.scores.max(dim=1).values)
            log_right += torch.log1p(-judged.probability.clamp_max(1 - MIN_PROBABILITY)).sum(dim=1)
        node_probability = 1 - log_right.exp()
        return Verdict(data, best, node_probability, float(node_probability.mean()), cells=judge)


def _judge(model: NumericModel, prior: float, first: int, last: int) -> JudgedCells:
    """Scores and probabilities of a range of features, for the log odds ``prior`` that a cell is wrong."""
    data, probability = model.data, torch.zeros(model.data.num_nodes, last - first, device=model.data.device)
    z = data.scales.standardize(data.block(first, last), first).abs().nan_to_num()
    if bool(data.numeric[first:last].any()):
        probability = torch.sigmoid(_log_ratio(model, first, last) + prior)
    exempt = data.exempt(first, last)
    return JudgedCells(probability if exempt is None else probability.masked_fill(exempt, 0.0), lambda: z)


def _log_ratio(model: NumericModel, first: int, last: int) -> Tensor:
    """Log ratios ``[n, c]`` of wrong to right; far below 0 where no value can be an outlier."""
    ratio = model.log_ratio(first, last, model.context.probability(first, last)).nan_to_num(nan=_NO_OUTLIER)
    return ratio.masked_fill(~model.data.numeric[first:last], _NOT_NUMERIC)
