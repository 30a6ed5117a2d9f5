"""How well each row fits its node: real pairs of nodes and rows against permuted ones, round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm
from torch import Tensor

from magnet.detection.base import track
from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.row_vectors import duplicate_counts, low_rank_rows, row_norms, unit_rows
from magnet.detection.data.scratch import over_cached_rows
from magnet.detection.options import ROWS
from magnet.detection.rows.gate import Gate, GateEvidence, judge_gate, power_and_error
from magnet.detection.rows.local_fdr import FloatArray, local_fdr, null_overlap, null_proportion, without_overlap
from magnet.detection.rows.logistic import CrossFit
from magnet.detection.rows.other_places import compare_with_other_places
from magnet.detection.rows.pair_features import PairFeatures, permuted_pairs, permuted_partners
from magnet.detection.thresholds import empirical_bayes_share, log_odds
from magnet.freed_memory import return_freed_memory

BoolArray = NDArray[np.bool_]

# Start and lower bound of the share of swapped rows among repeated ones. These are often wrong, and EM is slow: from a
# small start it has not always converged after its 100 steps.
REPEATED_START, REPEATED_MIN = 0.3, 1e-4


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


def judge_rows(data: DetectionData, rounds: int = 4, seed: int = 0, progress: bool = False) -> RowJudgment:
    """Compare each row with its context; see :class:`~magnet.detection.rows.context.Context`."""
    drawn = _PermutationNull.of(data, seed)
    known, duplicates = drawn.known, drawn.duplicates
    if int(known.sum()) < ROWS.min_rows or int(drawn.allowed.sum()) < ROWS.min_rows:
        nothing = torch.zeros(data.num_nodes, device=data.device)
        return RowJudgment(nothing, nothing, nothing, duplicates, known, 0.0, judge_gate(None))
    single, *repeated = _strata(duplicates, known)
    p_row_swapped, model, settled = torch.zeros(data.num_nodes, device=data.device), None, False
    for turn in track(range(rounds), "comparing rows with their context", progress):
        last = settled or turn + 1 == rounds
        fit = _RoundFit.of(drawn, p_row_swapped, last, model)
        logit, model = fit.logit, fit.model
        null_logit, allowed = fit.null_logit[:, drawn.null], drawn.allowed[:, drawn.null]
        real, null = _as_array(logit[known]), _as_array(torch.where(allowed, null_logit, torch.nan)[known])
        found = _share_of_single_rows(real[single], null)
        if turn == 0:
            power, error = power_and_error(real, null)
        if last:
            logit, of_row = fit.beside_other_places()
            real[single] = _as_array(logit[known])[single]
            null = _as_array(torch.where(drawn.elsewhere, of_row, torch.nan)[known])[single]
            by_row = _share_of_single_rows(real[single], null)
            by_row = _share_of_long_rows(by_row, real[single], null, _as_array(row_norms(data)[known])[single])
            found = _lower_of(found, by_row)  # both nulls must show it
        null = null[np.isfinite(null)]
        shares = [found.share, *(_share_of_repeated_rows(real[m]) for m in repeated)]
        before, p_row_swapped = p_row_swapped, _posterior(drawn, real, null, (single, *repeated), shares)
        if last:
            break
        settled = float((p_row_swapped - before).abs().max()) < ROWS.settled
    at_limit = [found.least, *shares[1:]]
    p_at_limit = _posterior(drawn, real, null, (single, *repeated), at_limit)
    if bool((p_row_swapped > 0.5).any()) and not bool((p_at_limit > 0.5).any()):
        p_row_swapped, shares = p_at_limit, at_limit  # nothing but the estimate of a share says that a row is swapped
    at_least = [max(ROWS.min_share, share) for share in shares]
    ranking = _posterior(drawn, real, null, (single, *repeated), at_least)
    share = float(np.dot(shares, [members.sum() for members in (single, *repeated)]) / data.num_nodes)
    gate = judge_gate(GateEvidence(power, error, share))
    return RowJudgment(p_row_swapped, ranking, logit, duplicates, known, share, gate)


@dataclass(frozen=True, eq=False)
class _PermutationNull:
    """The pairs of nodes and rows that are drawn once and kept over the rounds: a permutation null.

    Args:
        pairs: features of pairs by each representation of the rows; its probes, and in large graphs the partners of
            the nodes, are the rows of the permuted pairs.
        probes: numbers of the probes ``[K]``.
        partners: numbers of the partners ``[n]``; None where there are enough probes.
        allowed: bool ``[n, K]``, or ``[n, 1 + K]`` with partners, which of them are permuted pairs of a node with
            evidence.
        places: numbers of the nodes ``[J]`` at which every row is tried in the last round.
        elsewhere: bool ``[n, J]``, which of them are permuted pairs of a row that is not empty.
        known: bool ``[n]``, rows with evidence.
        half: which of two halves each node belongs to ``[n]``.
        duplicates: how often each row occurs ``[n]``.
        training: permuted pairs per node that the regressions are fitted on.
    """

    data: DetectionData
    pairs: list[PairFeatures]
    probes: Tensor
    partners: Tensor | None
    allowed: Tensor
    places: Tensor
    elsewhere: Tensor
    known: Tensor
    half: Tensor
    duplicates: Tensor
    training: int

    @classmethod
    def of(cls, data: DetectionData, seed: int) -> _PermutationNull:
        generator = torch.Generator().manual_seed(seed)

        def some(candidates: Tensor, count: int) -> Tensor:
            candidates = torch.nonzero(candidates.cpu()).flatten()
            return candidates[torch.randperm(candidates.numel(), generator=generator)[:count]].to(data.device)

        representations = [rows for rows in (unit_rows(data), low_rank_rows(data, seed=seed)) if rows is not None]
        return_freed_memory()  # of dense copies of the rows
        filled = representations[0].square > 0
        known = (data.num_neighbors > 0) & filled
        if data.missing is not None:  # rows without any value are filled with means
            known &= ~data.missing.all(dim=1)
        count = min(ROWS.max_probes, max(ROWS.min_probes, ROWS.max_pairs // data.num_nodes))
        chosen = some(filled, count)
        half = (torch.randperm(data.num_nodes, generator=generator) % 2).to(data.device)
        places = some(known, max(2, count // 2))
        allowed = permuted_pairs(data, chosen) & known[:, None]
        training, partners = min(ROWS.training_probes, max(1, ROWS.training_pairs // data.num_nodes)), None
        if count < min(ROWS.min_null_probes, ROWS.max_probes):
            rows_in_turn = some(filled, data.num_nodes)
            partners = rows_in_turn[torch.arange(data.num_nodes, device=data.device) % rows_in_turn.numel()]
            allowed = torch.cat([(permuted_partners(data, partners) & known)[:, None], allowed], dim=1)
            training = 1
        return cls(
            data=data,
            pairs=[PairFeatures(data, rows, chosen, partners) for rows in representations],
            probes=chosen,
            partners=partners,
            allowed=allowed,
            places=places,
            elsewhere=permuted_pairs(data, places) & filled[:, None],
            known=known,
            half=half,
            duplicates=duplicate_counts(data),
            training=training,
        )

    @property
    def null(self) -> slice:
        """Which of the permuted pairs are the null distribution."""
        return slice(None) if self.partners is None else slice(0, 1)


@dataclass(frozen=True, eq=False)
class _RoundFit:
    """The logistic regression of real against permuted pairs in one round.

    Args:
        drawn: what stays the same.
        w: weights ``[n]`` of the rows in contexts.
        weight: of the real pairs ``[n]``.
        amount: amounts of context ``[n, 2]``.
        model: the cross-fitted regression.
        logit: of the real pairs ``[n]``.
        null_logit: of the permuted pairs, like ``drawn.allowed``; before the last round those of the partners alone,
            where there are any.
    """

    drawn: _PermutationNull
    w: Tensor
    weight: Tensor
    amount: Tensor
    model: CrossFit
    logit: Tensor
    null_logit: Tensor

    @classmethod
    def of(cls, drawn: _PermutationNull, p_row_swapped: Tensor, last: bool, before: CrossFit | None) -> _RoundFit:
        w = context_weights(p_row_swapped, drawn.duplicates)
        near, far = drawn.data.neighbor_sums(w[:, None])
        amount = torch.cat([near.log1p(), far.clamp_min(0).log1p()], dim=1)
        features = [p.features(w, at_probes=last or drawn.partners is None) for p in drawn.pairs]
        at_home = _expand(torch.cat([f[0] for f in features], dim=1), amount)
        permuted = [column for f in features for column in f[1].unbind(dim=2)]
        weight = (1 - p_row_swapped) / drawn.duplicates
        training = torch.stack([column[:, : drawn.training] for column in permuted], dim=2)
        amounts = amount[:, None].expand(-1, training.shape[1], 2)
        some = drawn.allowed[:, : drawn.training], lambda chosen: _expand(training[chosen], amounts[chosen])
        model = CrossFit.of(at_home, weight, [some], drawn.known, drawn.half, before)
        null_logit = _pair_logits(model, permuted, amount[:, None], drawn.half[:, None])
        return cls(drawn, w, weight, amount, model, model.logit(at_home, drawn.half), null_logit)

    def beside_other_places(self) -> tuple[Tensor, Tensor]:
        """Logits ``[n]`` of the real pairs and ``[n, J]`` of every row at other nodes, by the standards of the row."""
        drawn, places = self.drawn, self.drawn.places
        at_places = [column for p in drawn.pairs for column in p.elsewhere(self.w, places).unbind(dim=2)]
        of_row = _pair_logits(self.model, at_places, self.amount[None, places], drawn.half[None, places])
        first = 0 if drawn.partners is None else 1
        at_node = self.null_logit[:, first:], drawn.allowed[:, first:], drawn.probes
        at_place = of_row, drawn.elsewhere, places
        return compare_with_other_places(
            self.logit, at_node, at_place, self.weight, drawn.known, drawn.half, drawn.training
        )


def _as_array(logits: Tensor) -> FloatArray:
    return np.asarray(logits.double().cpu().numpy())


def _posterior(
    drawn: _PermutationNull, real: FloatArray, null: FloatArray, strata: Sequence[BoolArray], shares: Sequence[float]
) -> Tensor:
    """Probability ``[n]`` that each row is swapped, for a share of swapped rows in each stratum of the known ones: the
    local false discovery rate (Efron 2004) of single rows, the logistic posterior of repeated ones."""
    single, *repeated = strata
    p = np.zeros(real.size)
    p[single] = local_fdr(real[single], null, shares[0])
    for members, share in zip(repeated, shares[1:], strict=True):
        p[members] = expit(log_odds(share) - real[members])
    out = torch.zeros(drawn.data.num_nodes, device=drawn.data.device)
    out[drawn.known] = torch.from_numpy(p).float().to(out.device)
    if drawn.data.trusted is not None:  # rows of which at least half is known to be right
        out[drawn.data.trusted.float().mean(dim=1) >= 0.5] = 0.0
    return out


class _SingleShare(NamedTuple):
    """An estimated share of swapped rows, its lower confidence limit, and its standard error."""

    share: float
    least: float
    error: float


def _share_of_single_rows(real: FloatArray, null: FloatArray) -> _SingleShare:
    """The share of swapped rows among those that occur once, without right rows that fit badly. It counts where it
    exceeds its standard error, so that small graphs must show more; the confidence limit (level ``ROWS.limit_level``)
    also knows that the null has few columns. The limits decide whether there are such rows, not how many: the posterior
    cannot exceed the assumed share over the true one, and with a tenth of the rows moved and the estimate less its
    error no row was flagged with most seeds."""
    found = null_proportion(real, null)
    overlap = null_overlap(real, null[np.isfinite(null)], found.share, found.quantile)
    share = without_overlap(found.share, overlap)
    error = math.hypot(found.error, found.null_error)
    least = max(0.0, share - float(norm.isf(ROWS.limit_level)) * error)
    # less than all, so that some rows are left to fit the regression of the next round on
    return _SingleShare(min(share, 1 - found.error) if share > found.error else 0.0, least, error)


def _share_of_long_rows(found: _SingleShare, real: FloatArray, null: FloatArray, norms: FloatArray) -> _SingleShare:
    """The share that the longer half of the rows shows, where the shorter half shows significantly more (level
    ``ROWS.misfit_level``). Rows are swapped whatever they hold, but right rows that hold little fit no place.

    Args:
        found: the share that all of them show.
        real: logits of the rows ``[n]``.
        null: logits of each row at other nodes ``[n, J]``.
        norms: of the rows ``[n]``.
    """
    longer = norms >= (np.median(norms) if norms.size else 0)
    if longer.all():  # there is no shorter half
        return found
    short, long = (_share_of_single_rows(real[half], null[half]) for half in (~longer, longer))
    error = math.hypot(short.error, long.error)
    significant = short.share - long.share > float(norm.isf(ROWS.misfit_level)) * error
    return _lower_of(found, long) if significant else found


def _lower_of(one: _SingleShare, other: _SingleShare) -> _SingleShare:
    return one._replace(share=min(one.share, other.share), least=min(one.least, other.least))


def _share_of_repeated_rows(real: FloatArray) -> float:
    """The share of swapped rows among those that occur equally often. Copies of one row may be neighbors, and then
    agree better than a null of random places. So the logit itself, the log ratio of real to permuted pairs, decides."""
    return empirical_bayes_share(
        lambda share: float(expit(log_odds(share) - real).mean()),
        bounds=(REPEATED_MIN, 1 - REPEATED_MIN),
        start=REPEATED_START,
    )


def _strata(duplicates: Tensor, known: Tensor) -> list[BoolArray]:
    """Which of the known rows occur once, twice, more often; strata that are too small are merged."""
    times = duplicates[known].cpu().numpy()
    parts = [times < 2, times == 2, times > 2]
    large = [part for part in parts if part.sum() >= ROWS.min_stratum]
    rest = ~np.any(large, axis=0) if large else np.ones(times.size, bool)
    if rest.sum() and large:
        large[0] = large[0] | rest
    return large or [rest]


def _expand(features: Tensor, amount: Tensor) -> Tensor:
    """The features of pairs, the amounts of context, products of both, and squares."""
    amount = amount.expand(*features.shape[:-1], 2)
    products = [features * amount[..., :1], features * amount[..., 1:]]
    return torch.cat([features, amount, *products, features.square()], dim=-1)


def _pair_logits(model: CrossFit, features: Sequence[Tensor], amount: Tensor, half: Tensor) -> Tensor:
    """Log odds ``[n, m]`` of pairs by their features, ``[n, m]`` each, and the amounts and halves of their nodes
    (``[n, 1, ...]`` or ``[1, m, ...]``): the model of :func:`_expand` without the products, as the amounts are part of
    the coefficients."""
    slope, constant = model.of_half(half)
    f = len(features)
    plain, by_amount, near, far, square = slope.split([f, 2, f, f, f], dim=-1)
    plain = plain + near * amount[..., :1] + far * amount[..., 1:]
    constant = constant + (by_amount * amount).sum(dim=-1)
    out = torch.empty(features[0].shape, device=constant.device)

    def of_rows(rows: slice) -> None:
        own = rows if amount.shape[0] > 1 else slice(None)
        out[rows] = constant[own]
        for j, column in enumerate(features):
            out[rows] += (plain[own, :, j] + square[own, :, j] * column[rows]) * column[rows]

    over_cached_rows(out, of_rows)
    return out
