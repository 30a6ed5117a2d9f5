"""``zscore``: how far is each value from the middle of its column?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from magnet.detection.base import Detector
from magnet.detection.data.dataset import DetectionData
from magnet.detection.thresholds import log_cauchy_normal_ratio, log_odds
from magnet.detection.verdict import Verdict


@dataclass(kw_only=True, eq=False, repr=False)
class ZScore(Detector):
    r"""The robust column z-score :math:`|x - \mathrm{median}| / (1.4826\,\mathrm{MAD})`; it does not look at the graph.

    The probability weighs a wide (Cauchy) against a normal density, with an empirical-Bayes share of wrong cells for
    the whole table. 0/1 columns and categories have no outliers: their score is that of a binomial deviation, their
    probability 0.
    """

    def _detect(self, data: DetectionData) -> Verdict:
        share, cells = 0.01, float(data.num_nodes * max(1, int(data.numeric.sum())))
        prior = log_odds(share)
        for _ in range(20):
            total = sum(float(_judge(data, prior, first, last)[1].sum()) for first, last in data.ranges())
            new = min(0.3, max(1e-6, total / cells))
            prior = log_odds(new)
            if abs(new - share) < 1e-5:
                break
            share = new
        best, log_right = torch.zeros(2, data.num_nodes, device=data.device)
        for first, last in data.ranges():
            score, probability = _judge(data, prior, first, last)
            best = torch.maximum(best, score.max(dim=1).values)
            log_right += torch.log1p(-probability.clamp_max(1 - 1e-6)).sum(dim=1)
        node_probability = 1 - log_right.exp()
        return Verdict(data, best, node_probability, float(node_probability.mean()), cells=partial(_judge, data, prior))


def _judge(data: DetectionData, prior: float, first: int, last: int) -> tuple[Tensor, Tensor]:
    """Scores and probabilities of a range of features, for the log odds ``prior`` that a cell is wrong."""
    z = data.scales.standardize(data.block(first, last), first).abs().nan_to_num()
    probability = torch.sigmoid(log_cauchy_normal_ratio(z) + prior) * data.numeric[first:last]
    exempt = data.exempt(first, last)
    return z, probability if exempt is None else probability.masked_fill(exempt, 0.0)
