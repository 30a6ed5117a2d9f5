"""``context``: is this row one that could belong here?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from magnet.detection.base import Detector
from magnet.detection.expectation import Expectation
from magnet.detection.gate import Evidence, judge
from magnet.detection.logistic import fit_logistic
from magnet.detection.pairs import Pairs
from magnet.detection.progress import track
from magnet.detection.rows import copies, low_rank_rows, unit_rows
from magnet.detection.two_groups import FloatArray, leak, null_share, posterior, without_leak
from magnet.detection.view import View

# Permuted pairs in all; large graphs get fewer for each place.
PAIRS = 4_000_000
# Rows that occur once, twice, more often; strata with fewer rows than this are joined with the others.
STRATUM = 50
# Where no row is wrong, rows are ranked as if this share were.
LEAST = 0.001


@dataclass(kw_only=True, eq=False, repr=False)
class Context(Detector):
    r"""Compares each row with a context that never contains the row itself, and calibrates by permutation.

    1. Representations: ``R``, rows of norm 1, and ``S``, a truncated SVD of tf-idf or of the standardised table.
    2. Weights :math:`w_j = (1 - \rho_j) / c_j`: ``c`` counts the copies of a row, ``rho`` is what is known so far.
    3. Features of the pair (place i, row k): see :class:`~magnet.detection.pairs.Pairs`; and the amounts of context
       :math:`\log(1 + A w)`, :math:`\log(1 + A A w - r w)`, the squares, and the products of both kinds.
    4. Logistic regression, cross-fitted on two halves of the places: real pairs, weighted by :math:`w` as well, so that
       copies of one row do not outvote the others, against permuted ones. The permuted pairs' logits are the null.
    5. Two groups, among the rows that occur once, twice and more often apart:
       :math:`\rho = \min(1, \pi_0 f_0 / f)`, see :mod:`~magnet.detection.two_groups`; right rows that do not fit, as
       there are in every graph, are taken off :math:`\pi_0`. Back to 2.

    Nodes without neighbours and empty rows have no evidence, so they are believed.

    Args:
        rounds: how often the weights are renewed. (default: ``4``)
        probes: rows that serve as the permuted ones, at every place. (default: ``128``, fewer for large graphs)
        rank: of ``S``. (default: ``128``)
        gated: flag nothing where the context says nothing about the rows. (default: ``False``; ``gate_`` is judged in
            any case)

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
    gated: bool = False

    def _detect(self, view: View) -> None:
        self._expected: Expectation | None = None
        generator = torch.Generator().manual_seed(self.seed)
        R = unit_rows(view)
        S = low_rank_rows(view, self.rank, self.seed)
        known = (view.neighbours > 0) & (R.square > 0)
        candidates = torch.nonzero((R.square > 0).cpu()).flatten()
        count = min(self.probes, max(16, PAIRS // view.nodes))
        probes = candidates[torch.randperm(candidates.numel(), generator=generator)[:count]].to(view.device)
        half = (torch.randperm(view.nodes, generator=generator) % 2).to(view.device)
        self._copies = copies(view)
        rho = torch.zeros(view.nodes, device=view.device)
        self._ungated, self._logit = torch.zeros_like(rho), torch.zeros_like(rho)
        self.share_ = 0.0
        allowed = permuted_pairs(view, probes) & known[:, None]
        if int(known.sum()) < 10 or int(allowed.sum()) < 10:
            self.gate_ = judge(None)
        else:
            pairs = [Pairs(view, rows, probes) for rows in (R, S) if rows is not None]
            rho, self._ungated = self._rounds(view, pairs, known, allowed, half)
        if self.gated and self.gate_ is not None and not self.gate_.open:
            rho = torch.zeros_like(rho)
            self.share_ = 0.0
        self._rho = rho
        odds = torch.log((self._ungated + 1e-6) / (1 - self._ungated + 1e-6)) - 0.01 * self._logit
        self.node_scores_ = torch.where(known, odds, odds.min())
        self.node_probability_ = rho

    def _rounds(
        self, view: View, pairs: list[Pairs], known: Tensor, allowed: Tensor, half: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The probability ``[n]`` that a row is not the node's own, and what it would be if there were some such rows
        for sure, by which rows are ranked."""
        A, n = view.adjacency, view.nodes
        rho = torch.zeros(n, device=view.device)
        believed = surely_right(view)
        c = self._copies
        strata = by_copies(c, known)
        for turn in track(range(self.rounds), "comparing rows with their context", self.progress):
            w = (1 - rho).clamp_min(0.02) / c
            near = A @ w[:, None]
            far = (A @ near - view.back[:, None] * w[:, None]).clamp_min(0)
            amount = torch.cat([near.log1p(), far.log1p()], dim=1)
            features = [p.features(w) for p in pairs]
            real = torch.cat([f[0] for f in features], dim=1)
            null = torch.cat([f[1] for f in features], dim=2)
            logit, null_logit = cross_fit(real, null, amount, (1 - rho) / c, known, allowed, half)
            r, r0 = logit[known].double().cpu().numpy(), null_logit[allowed].double().cpu().numpy()
            if turn == 0:
                power = auroc(r, r0)
            shares = [null_share(r[members], r0) for members in strata]
            # How right rows look shows best in the stratum that has most of them.
            best = int(np.argmax([(1 - share) * members.sum() for share, members in zip(shares, strata, strict=True)]))
            evidence = Evidence(power, auroc(r[strata[best]], r0), int(known.sum()), shares[best])
            tail = leak(r[strata[best]], r0, shares[best])
            shares = [without_leak(share, tail) for share in shares]
            rho = torch.zeros(n, device=view.device)
            rho[known] = by_strata(r, r0, strata, shares).to(view.device)
            rho[believed] = 0.0
        self._logit = logit
        self.share_ = float(np.dot(shares, [members.sum() for members in strata]) / n)
        self.gate_ = judge(evidence)
        ranked = torch.zeros(n, device=view.device)
        ranked[known] = by_strata(r, r0, strata, [max(LEAST, share) for share in shares]).to(view.device)
        ranked[believed] = 0.0
        return rho, ranked

    def _suspicion(self) -> Tensor:
        return self._ungated

    def context_expectation(self) -> Expectation:
        if self._expected is None:
            assert self._rho is not None
            self._expected = Expectation(self._view, (1 - self._rho).clamp_min(0.02) / self._copies)
        return self._expected

    def _differs(self, first: int, last: int) -> Tensor:
        return self.context_expectation().differs(first, last)


def permuted_pairs(view: View, probes: Tensor) -> Tensor:
    """Bool ``[n, probes]``: the probe is neither this node nor one of its neighbours."""
    number = torch.full((view.nodes,), -1, device=view.device)
    number[probes] = torch.arange(probes.numel(), device=view.device)
    allowed = torch.ones(view.nodes, probes.numel(), dtype=torch.bool, device=view.device)
    allowed[probes, number[probes]] = False
    left, right = view.edges
    hit = number[right] >= 0
    allowed[left[hit], number[right[hit]]] = False
    return allowed


def by_copies(c: Tensor, known: Tensor) -> list[np.ndarray]:
    """Which of the known rows occur once, twice, more often; strata that are too small are joined."""
    times = c[known].cpu().numpy()
    parts = [times < 1.5, (times > 1.5) & (times < 2.5), times > 2.5]
    large = [part for part in parts if part.sum() >= STRATUM]
    rest = ~np.any(large, axis=0) if large else np.ones(times.size, bool)
    if rest.sum() and large:
        large[0] = large[0] | rest
    return large or [rest]


def by_strata(real: FloatArray, null: FloatArray, strata: list[np.ndarray], shares: list[float]) -> Tensor:
    """The posterior of each row among those of its stratum."""
    p = np.zeros(real.size)
    for members, share in zip(strata, shares, strict=True):
        p[members] = posterior(real[members], null, share)
    return torch.from_numpy(p).float()


def surely_right(view: View) -> Tensor:
    """Bool ``[n]``: at least half of the row's cells are known to be right."""
    if view.trusted is None:
        return torch.zeros(view.nodes, dtype=torch.bool, device=view.device)
    return view.trusted.float().mean(dim=1) >= 0.5


def cross_fit(
    real: Tensor, null: Tensor, amount: Tensor, weight: Tensor, known: Tensor, allowed: Tensor, half: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits ``[n]`` of the real pairs and ``[n, probes]`` of the permuted ones, each from the other half's model."""
    x = expand(real, amount)
    centre, spread = x[known].mean(dim=0), x[known].std(dim=0).clamp_min(1e-6)

    def scale(v: Tensor) -> Tensor:
        return (v - centre) / spread

    x = scale(x)
    some = min(null.shape[1], 16, max(2, 200_000 // real.shape[0]))
    coefficients = []
    for side in (0, 1):
        train = known & (half != side)
        inside = allowed[train][:, :some]
        x0 = scale(expand(null[train][:, :some], amount[train][:, None]))[inside]
        w1 = weight[train]
        w0 = torch.full((x0.shape[0],), float(w1.sum()) / max(1, x0.shape[0]), device=x.device)
        y = torch.cat([torch.ones_like(w1), torch.zeros_like(w0)])
        coefficients.append(fit_logistic(torch.cat([x[train], x0]), y, torch.cat([w1, w0])).float())
    b = torch.stack(coefficients)[half]
    logit = (x * b[:, :-1]).sum(dim=1) + b[:, -1]
    null_logit = torch.empty(null.shape[:2], device=x.device)
    for k in range(null.shape[1]):
        null_logit[:, k] = (scale(expand(null[:, k], amount)) * b[:, :-1]).sum(dim=1) + b[:, -1]
    return logit, null_logit


def expand(features: Tensor, amount: Tensor) -> Tensor:
    """The features of pairs, the amounts of context, products of both, and squares."""
    amount = amount.expand(*features.shape[:-1], 2)
    products = [features * amount[..., :1], features * amount[..., 1:]]
    return torch.cat([features, amount, *products, features.square()], dim=-1)


def auroc(real: FloatArray, null: FloatArray) -> float:
    some = null[:: max(1, null.size // 200_000)]
    truth = np.concatenate([np.ones(real.size), np.zeros(some.size)])
    return float(roc_auc_score(truth, np.concatenate([real, some])))
