"""``context``: is this row one that could belong to this node?"""

from __future__ import annotations

from dataclasses import dataclass

from magnet.detection.base import Detector
from magnet.detection.data.dataset import DetectionData
from magnet.detection.options import ROWS
from magnet.detection.rows.judgment import context_weights, judge_rows
from magnet.detection.thresholds import finite_log_odds
from magnet.detection.verdict import Verdict


@dataclass(kw_only=True, eq=False, repr=False)
class Context(Detector):
    r"""Compares each row with a context that never contains the row itself, calibrated by a permutation null.

    1. Representations: ``R``, rows of norm 1, and ``S``, a truncated SVD of tf-idf or of the standardized table.
    2. Weights :math:`w_j = (1 - \rho_j) / c_j`: ``c`` counts the duplicates of a row, :math:`\rho` is the probability,
       so far, that it is swapped.
    3. Features of the pair (node i, row k): see :class:`~magnet.detection.rows.pair_features.PairFeatures`; the amounts
       of context :math:`\log(1 + A w)`, :math:`\log(1 + A A w - r w)`; squares, and products of both kinds.
    4. Logistic regression, cross-fitted on two halves of the nodes: real pairs, weighted by :math:`w` so that
       duplicates of one row do not outvote the others, against permuted ones: up to 128 rows at every node or, in
       large graphs, a random row for each node. The logits of the permuted pairs are the null distribution; in the last
       round, those of the same rows at other nodes, see :mod:`~magnet.detection.rows.other_places`.
    5. For rows that occur once, the local false discovery rate :math:`\rho = \min(1, \pi_0 f_0 / f)`, see
       :mod:`~magnet.detection.rows.local_fdr`; right rows that fit badly, as there are in every graph, are taken off
       :math:`\pi_0`. Among rows that occur twice, or more often, with a share :math:`\pi` found by expectation
       maximization and the logit :math:`\ell`, :math:`\rho = \pi / (\pi + (1 - \pi) e^\ell)`. Back to 2.

    Nodes without neighbors and empty rows have no evidence, so they are trusted.

    Args:
        rounds: how often the weights are renewed. (default: ``4``)
        gated: flag nothing where the context carries no information about the rows. (default: ``True``; ``False`` is
            for measuring the gate itself, see ``benchmarks/gate.py``)

    Example:
        >>> from magnet import corruption, datasets
        >>> bad = corruption.inject_attributes(datasets.synthetic(1500, 200, seed=1), ratio=0.2, select="random")
        >>> found = Context().fit(bad.data)
        >>> bool(found.node_scores_[bad.nodes].median() > found.node_scores_[~bad.nodes].median())
        True
    """

    rounds: int = 4
    gated: bool = True

    def _detect(self, data: DetectionData) -> Verdict:
        rows = judge_rows(data, self.rounds, self.seed, self.progress)
        if self.gated:
            rows = rows.gated()
        odds = finite_log_odds(rows.ranking) - ROWS.tie_break * rows.logit
        return Verdict(
            data=data,
            node_scores=rows.neutral(odds),
            node_probability=rows.p_row_swapped,
            share=rows.share,
            p_row_swapped=rows.p_row_swapped,
            row_ranking=rows.ranking,
            context_weights=context_weights(rows.p_row_swapped, rows.duplicates),
            gate=rows.gate,
        )
