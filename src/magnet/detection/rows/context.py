"""``context``: is this row one that could belong to this node?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from magnet.detection.base import Detector, track
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.row_vectors import duplicate_counts, low_rank_rows, unit_rows
from magnet.detection.options import ROWS
from magnet.detection.rows.gate import Gate, GateEvidence, judge_gate, power_and_error
from magnet.detection.rows.local_fdr import FloatArray, local_fdr, null_overlap, null_proportion, without_overlap
from magnet.detection.rows.logistic import CrossFit
from magnet.detection.rows.other_places import compare_with_other_places
from magnet.detection.rows.pair_features import PairFeatures, permuted_pairs
from magnet.detection.thresholds import empirical_bayes_share, log_odds
from magnet.detection.verdict import Verdict

BoolArray = NDArray[np.bool_]


@dataclass(kw_only=True, eq=False, repr=False)
class Context(Detector):
    r"""Compares each row with a context that never contains the row itself, calibrated by a permutation null.

    1. Representations: ``R``, rows of norm 1, and ``S``, a truncated SVD of tf-idf or of the standardized table.
    2. Weights :math:`w_j = (1 - \rho_j) / c_j`: ``c`` counts the duplicates of a row, :math:`\rho` is the probability,
       so far, that it is swapped.
    3. Features of the pair (node i, row k): see :class:`~magnet.detection.rows.pair_features.PairFeatures`; the amounts
       of context :math:`\log(1 + A w)`, :math:`\log(1 + A A w - r w)`; squares, and products of both kinds.
    4. Logistic regression, cross-fitted on two halves of the nodes: real pairs, weighted by :math:`w` so that
       duplicates of one row do not outvote the others, against permuted ones. The logits of the permuted pairs are the
       null distribution; in the last round, those of the same rows at other nodes, see
       :mod:`~magnet.detection.rows.other_places`.
    5. For rows that occur once, the local false discovery rate :math:`\rho = \min(1, \pi_0 f_0 / f)`, see
       :mod:`~magnet.detection.rows.local_fdr`; right rows that fit badly, as there are in every graph, are taken off
       :math:`\pi_0`. Among rows that occur twice, or more often, with a share :math:`\pi` found by expectation
       maximization and the logit :math:`\ell`, :math:`\rho = \pi / (\pi + (1 - \pi) e^\ell)`. Back to 2.

    Nodes without neighbors and empty rows have no evidence, so they are trusted.

    Args:
        rounds: how often the weights are renewed. (default: ``4``)
        probes: rows that serve as the permuted ones, at every node. (default: ``128``, fewer for large graphs)
        rank: of ``S``. (default: ``128``)
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
    probes: int = 128
    rank: int = 128
    gated: bool = True

    def _detect(self, data: DetectionData) -> Verdict:
        rows = judge_rows(data, self.rounds, self.probes, self.rank, self.seed, self.progress)
        if self.gated:
            rows = rows.gated()
        odds = torch.log((rows.ranking + 1e-6) / (1 - rows.ranking + 1e-6)) - ROWS.tie_break * rows.logit
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


@dataclass(frozen=True, eq=False)
class RowJudgment:
    """Evidence of the context about the rows.

    Args:
        p_row_swapped: probability ``[n]`` that the row belongs to another node.
        ranking: the same with the share of swapped rows floored at 0.001, used for ranking ``[n]``.
        logit: the evidence itself: how well the row fits ``[n]``.
        duplicates: how often each row occurs ``[n]``.
        has_evidence: bool ``[n]``, the row is not empty and has neighbors.
        share: estimated share of swapped rows.
        gate: whether the context carries information about the rows.
    """

    p_row_swapped: Tensor
    ranking: Tensor
    logit: Tensor
    duplicates: Tensor
    has_evidence: Tensor
    share: float
    gate: Gate

    def neutral(self, scores: Tensor) -> Tensor:
        """Scores ``[n]`` in which rows without evidence get the median."""
        if not bool(self.has_evidence.any()):
            return scores
        return torch.where(self.has_evidence, scores, scores[self.has_evidence].median())

    def gated(self) -> RowJudgment:
        """The same with no row swapped where the gate is closed; the ranking stays."""
        if self.gate.open:
            return self
        return replace(self, p_row_swapped=torch.zeros_like(self.p_row_swapped), share=0.0)


def context_weights(p_row_swapped: Tensor, duplicates: Tensor) -> Tensor:
    """Weights ``[n]`` of the rows in contexts: suspicious rows and duplicates count less."""
    return (1 - p_row_swapped).clamp_min(ROWS.min_row_weight) / duplicates


def judge_rows(
    data: DetectionData, rounds: int = 4, probes: int = 128, rank: int = 128, seed: int = 0, progress: bool = False
) -> RowJudgment:
    """Compare each row with its context; see :class:`Context`."""
    generator = torch.Generator().manual_seed(seed)
    R = unit_rows(data)
    S = low_rank_rows(data, rank, seed)
    known = (data.num_neighbors > 0) & (R.square > 0)
    candidates = torch.nonzero((R.square > 0).cpu()).flatten()
    count = min(probes, max(ROWS.min_probes, ROWS.max_pairs // data.num_nodes))
    chosen = candidates[torch.randperm(candidates.numel(), generator=generator)[:count]].to(data.device)
    half = (torch.randperm(data.num_nodes, generator=generator) % 2).to(data.device)
    duplicates = duplicate_counts(data)
    allowed = permuted_pairs(data, chosen) & known[:, None]
    if int(known.sum()) < ROWS.min_rows or int(allowed.sum()) < ROWS.min_rows:
        nothing = torch.zeros(data.num_nodes, device=data.device)
        return RowJudgment(nothing, nothing, nothing, duplicates, known, 0.0, judge_gate(None))
    places = torch.nonzero(known.cpu()).flatten()
    places = places[torch.randperm(places.numel(), generator=generator)[: max(2, count // 2)]].to(data.device)
    elsewhere = permuted_pairs(data, places) & (R.square > 0)[:, None]
    pairs = [PairFeatures(data, rows, chosen) for rows in (R, S) if rows is not None]
    single, *repeated = _strata(duplicates, known)
    trusted = _trusted_rows(data)

    def posterior(shares: Sequence[float]) -> Tensor:
        p = np.zeros(real.size)
        p[single] = local_fdr(real[single], null, shares[0])
        for members, share in zip(repeated, shares[1:], strict=True):
            p[members] = expit(log_odds(share) - real[members])
        out = torch.zeros(data.num_nodes, device=data.device)
        out[known] = torch.from_numpy(p).float().to(data.device)
        out[trusted] = 0.0
        return out

    p_row_swapped = torch.zeros(data.num_nodes, device=data.device)
    training = min(ROWS.training_probes, max(ROWS.min_training_probes, ROWS.training_pairs // data.num_nodes))
    for turn in track(range(rounds), "comparing rows with their context", progress):
        w = context_weights(p_row_swapped, duplicates)
        near, far = data.neighbor_sums(w[:, None])
        amount = torch.cat([near.log1p(), far.clamp_min(0).log1p()], dim=1)
        features = [p.features(w) for p in pairs]
        at_home, permuted = _expand(_joined([f[0] for f in features]), amount), _joined([f[1] for f in features])
        del features
        weight = (1 - p_row_swapped) / duplicates
        some = _expand(permuted[:, :training], amount[:, None]), allowed[:, :training]
        model = CrossFit.of(at_home, weight, [some], known, half)
        logit, null_logit = model.logit(at_home, half), torch.empty(permuted.shape[:2], device=data.device)
        for k in range(chosen.numel()):
            null_logit[:, k] = model.logit(_expand(permuted[:, k], amount), half)
        real, null = logit[known].double().cpu().numpy(), null_logit[allowed].double().cpu().numpy()
        shares = [_share_of_single_rows(real[single], null), *(_share_of_repeated_rows(real[m]) for m in repeated)]
        if turn == 0:
            at_nodes = torch.where(allowed, null_logit, torch.nan)[known].double().cpu().numpy()
            power, error = power_and_error(real, at_nodes)
            del at_nodes
        if turn + 1 == rounds:
            at_places = _joined([p.elsewhere(w, places) for p in pairs])
            of_row = torch.empty(at_places.shape[:2], device=data.device)
            for j, place in enumerate(places.tolist()):
                moved = _expand(at_places[:, j], amount[place].expand(data.num_nodes, 2))
                of_row[:, j] = model.logit(moved, half[place].expand(data.num_nodes))
            logit, of_row = compare_with_other_places(
                logit, (null_logit, allowed, chosen), (of_row, elsewhere, places), weight, known, half, training
            )
            real[single] = logit[known].double().cpu().numpy()[single]
            null = of_row[known][single][elsewhere[known][single]].double().cpu().numpy()
            shares[0] = min(shares[0], _share_of_single_rows(real[single], null))  # both nulls must show it
        del permuted, null_logit  # before the next ones are made
        p_row_swapped = posterior(shares)
    ranking = posterior([max(ROWS.min_ranking_share, share) for share in shares])
    share = float(np.dot(shares, [members.sum() for members in (single, *repeated)]) / data.num_nodes)
    gate = judge_gate(GateEvidence(power, error, share))
    return RowJudgment(p_row_swapped, ranking, logit, duplicates, known, share, gate)


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """Features of all representations side by side; of a single one without a copy."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=-1)


def _share_of_single_rows(real: FloatArray, null: FloatArray) -> float:
    """The share of swapped rows among those that occur once, without right rows that fit badly. The lower limit (one
    standard error) counts, so that small graphs must show more."""
    found = null_proportion(real, null)
    share = without_overlap(found.share, null_overlap(real, null, found.share, found.quantile))
    return max(0.0, share - found.error)


def _share_of_repeated_rows(real: FloatArray) -> float:
    """The share of swapped rows among those that occur equally often. Copies of one row may be neighbors, and then
    agree better than a null of random places. So the logit itself, the log ratio of real to permuted pairs, decides."""
    return empirical_bayes_share(
        lambda share: float(expit(log_odds(share) - real).mean()), start=ROWS.start_share, bounds=(1e-4, 1 - 1e-4)
    )


def _strata(duplicates: Tensor, known: Tensor) -> list[BoolArray]:
    """Which of the known rows occur once, twice, more often; strata that are too small are merged."""
    times = duplicates[known].cpu().numpy()
    parts = [times < 1.5, (times > 1.5) & (times < 2.5), times > 2.5]
    large = [part for part in parts if part.sum() >= ROWS.min_stratum]
    rest = ~np.any(large, axis=0) if large else np.ones(times.size, bool)
    if rest.sum() and large:
        large[0] = large[0] | rest
    return large or [rest]


def _trusted_rows(data: DetectionData) -> Tensor:
    """Bool ``[n]``: at least half of the row's cells are known to be right."""
    if data.trusted is None:
        return torch.zeros(data.num_nodes, dtype=torch.bool, device=data.device)
    return data.trusted.float().mean(dim=1) >= 0.5


def _expand(features: Tensor, amount: Tensor) -> Tensor:
    """The features of pairs, the amounts of context, products of both, and squares."""
    amount = amount.expand(*features.shape[:-1], 2)
    products = [features * amount[..., :1], features * amount[..., 1:]]
    return torch.cat([features, amount, *products, features.square()], dim=-1)
