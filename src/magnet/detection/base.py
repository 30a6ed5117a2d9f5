"""The interface of all detectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, Self

import pandas as pd
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from magnet.arrays import csr_tensor
from magnet.detection.columns import Column, Scales
from magnet.detection.expectation import Expectation
from magnet.detection.threshold import cut, top
from magnet.detection.view import View

# Cells of a sparse matrix that are zero appear in sparse results from this probability on.
LISTED = 0.01


@dataclass(frozen=True)
class Gate:
    """Whether the neighbourhood says anything about the rows.

    Args:
        open: rows may be flagged.
        power: AUROC of "this row at its own place" against "another row at this place".
        reason: why it is closed, in words.
        adjusted: the power on the rows that are right, as far as it can be estimated.
        cells: cells may be compared with their context, which takes less than to call a whole row foreign.
    """

    open: bool
    power: float
    reason: str
    adjusted: float = float("nan")
    cells: bool = False


@dataclass(kw_only=True, eq=False, repr=False)
class Detector(ABC):
    r"""Finds wrong rows and cells without labels and without clean data.

    There are two ways for a cell to be wrong: its whole row is not the node's own (probability :math:`\rho_i`), or
    the cell alone is (probability :math:`P_{ij}`). A detector knows one of them or both:

    .. math::
        \Pr(\text{cell } ij \text{ is wrong}) = 1 - (1 - P_{ij}) (1 - \rho_i c_{ij})

    where :math:`c_{ij}` is the probability that another row differs in this cell. ``trust_`` asks something else:
    is the value evidence about its node? In a row that is not the node's own no cell is, also where the wrong row
    happens to agree with the right one.

    Args:
        threshold: flag what is wrong with more than this probability. (default: ``"posterior"``, which is 1/2)
        fdr: instead, flag as much as possible while the expected share of false alarms stays below this.
        contamination: instead, flag this share: of the rows, for detectors of rows; of the cells, for the others.
        seed: seed of everything random. (default: ``0``)
        device: where to compute. (default: where ``data.x`` is)
        progress: show a progress bar. (default: ``False``)

    After :meth:`fit`: ``scores_``, ``probability_``, ``flagged_``, ``trust_``, ``soft_trust_`` for cells ``[n, d]``;
    ``node_scores_``, ``node_probability_``, ``flagged_nodes_`` for nodes ``[n]``; ``share_``, the estimated share of
    wrong rows; ``threshold_``; ``columns_``, ``scales_``; ``gate_``, where there is one. For sparse features
    ``scores_`` and ``probability_`` are sparse: they hold the cells that ``x`` stores and all others of probability 1
    % or more.
    """

    threshold: float | Literal["posterior"] = "posterior"
    fdr: float | None = None
    contamination: float | None = None
    seed: int = 0
    device: Any = None
    progress: bool = False

    node_scores_: Tensor = field(init=False, repr=False)
    node_probability_: Tensor = field(init=False, repr=False)
    share_: float = field(init=False, repr=False)
    gate_: Gate | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        for name, value in (("threshold", self.threshold), ("fdr", self.fdr), ("contamination", self.contamination)):
            if value not in (None, "posterior") and not (isinstance(value, (int, float)) and 0 < value < 1):
                raise ValueError(f"{name} is {value!r}; it must lie between 0 and 1")
        if self.fdr is not None and self.contamination is not None:
            raise ValueError("fdr and contamination are two ways to choose the threshold; give one of them")

    def fit(
        self,
        data: Data,
        columns: Sequence[Column] | None = None,
        trusted: Any = None,
        like: Detector | None = None,
    ) -> Self:
        """Find what is wrong in ``data``.

        Args:
            data: a graph with ``x`` ``[n, d]`` (dense, NaN = missing; or sparse CSR) and ``edge_index``;
                ``edge_weight`` counts where it is there, and ``edges_from_rows = True`` says that the edges are
                nearest neighbours by ``x`` itself.
            columns: what the features are. (default: :func:`infer_columns`)
            trusted: bool ``[n, d]`` or ``[n]``: cells, or rows, known to be right. They are never flagged.
            like: a fitted detector whose column scales and threshold are used.
        """
        scales = like.scales_ if like is not None else None
        return self.fit_view(View.of(data, columns, trusted, scales, self.device), data.x.device, like)

    def fit_view(self, view: View, home: torch.device | None = None, like: Detector | None = None) -> Self:
        """The same for data that was looked at before; results go to the device ``home``."""
        for name in (
            "scores_",
            "probability_",
            "flagged_",
            "trust_",
            "soft_trust_",
            "_node_cut",
            "_score_cut",
            "threshold_",
        ):
            self.__dict__.pop(name, None)
        self._view, self._like = view, like
        self._home: torch.device = home or view.device
        self._rho: Tensor | None = None
        self.gate_ = None
        self._detect(view)
        for name in ("node_scores_", "node_probability_"):
            setattr(self, name, getattr(self, name).to(self._home))
        return self

    def __repr__(self) -> str:
        changed = (f for f in fields(self) if f.init and getattr(self, f.name) != f.default)
        return f"{type(self).__name__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in changed)})"

    @abstractmethod
    def _detect(self, view: View) -> None:
        """Set ``node_scores_``, ``node_probability_``, ``share_`` and, for a detector of rows, ``_rho``."""

    def _cells(self, first: int, last: int) -> tuple[Tensor, Tensor] | None:
        """Scores and probabilities ``[n, last - first]`` that a cell alone is wrong; None for detectors of rows."""
        return None

    def _differs(self, first: int, last: int) -> Tensor:
        """``c``: the probability ``[n, last - first]`` that another row differs in this cell."""
        return torch.ones(1, 1, device=self._view.device)

    def _suspicion(self) -> Tensor:
        """What ranks the rows in ``scores_``: their probability, or what it would be if the gate were open."""
        assert self._rho is not None
        return self._rho

    def _block(self, first: int, last: int) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, probability and distrust (is this no evidence about its node?) of a range of features."""
        own = self._cells(first, last)
        shape = (self._view.nodes, last - first)
        if own is not None:
            score, probability = own
            flagged = probability > self.threshold_ if self._score_cut is None else score > self._score_cut
        else:
            score = probability = torch.zeros(shape, device=self._view.device)
            flagged = torch.zeros(shape, dtype=torch.bool, device=self._view.device)
        if self._rho is not None:
            differs = self._differs(first, last)
            suspicious = self._suspicion()[:, None] * differs
            score = suspicious.expand(shape) if own is None else 1 - (1 - probability) * (1 - suspicious)
            probability = 1 - (1 - probability) * (1 - self._rho[:, None] * differs)
            flagged = flagged | self.flagged_rows().to(self._view.device)[:, None]
        known = self._known(first, last)
        if known is not None:
            score = torch.where(known, score.min(), score)
            probability = torch.where(known, torch.zeros((), device=self._view.device), probability)
            flagged = flagged & ~known
        return score, probability, flagged

    def _known(self, first: int, last: int) -> Tensor | None:
        """Cells that carry no suspicion: trusted by the user, or missing."""
        trusted, missing = self._view.trusted_block(first, last), self._view.missing
        if missing is None:
            return trusted
        return missing[:, first:last] if trusted is None else missing[:, first:last] | trusted

    @cached_property
    def _node_cut(self) -> float:
        """The probability above which a row is flagged, for detectors of rows."""
        if self._like is not None:
            return self._like._node_cut
        return 0.5 if self._rho is None else cut(self._rho, self.threshold, self.fdr)

    @cached_property
    def threshold_(self) -> float:
        """The probability above which a cell is flagged."""
        if self._like is not None:
            return self._like.threshold_
        if self.fdr is None:
            return 0.5 if self.threshold == "posterior" else float(self.threshold)
        pieces = [own[1].flatten() for r in self._view.ranges() if (own := self._cells(*r)) is not None]
        return cut(torch.cat(pieces), fdr=self.fdr) if pieces else self._node_cut

    @cached_property
    def _score_cut(self) -> float | None:
        """The score above which a cell is flagged, where a share was asked for."""
        if self.contamination is None or self._rho is not None:
            return None
        pieces = [own[0].flatten() for r in self._view.ranges() if (own := self._cells(*r)) is not None]
        return top(torch.cat(pieces), self.contamination)

    def _assemble(self, which: int, dtype: torch.dtype = torch.float32) -> Tensor:
        view = self._view
        if view.matrix is None or dtype == torch.bool:
            out = torch.empty(view.nodes, view.features, dtype=dtype, device=self._home)
            for first, last in view.ranges():
                out[:, first:last] = self._block(first, last)[which].to(self._home)
            return out
        parts = []
        for first, last in view.ranges():
            block = self._block(first, last)
            keep = (block[1] >= LISTED) | (view.block(first, last) != 0)
            row, column = keep.nonzero(as_tuple=True)
            entry = (block[which][keep].cpu().numpy(), (row.cpu().numpy(), column.cpu().numpy()))
            parts.append(sp.csc_matrix(entry, shape=(view.nodes, last - first)))
        return csr_tensor(sp.hstack(parts, format="csr"), torch.float32, self._home)

    @cached_property
    def scores_(self) -> Tensor:
        return self._assemble(0)

    @cached_property
    def probability_(self) -> Tensor:
        return self._assemble(1)

    def ranges(self) -> list[tuple[int, int]]:
        """The ranges of features that :meth:`judged` can be asked for."""
        return list(self._view.ranges())

    def judged(self, first: int, last: int) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, probability, and which cells are judged wrong, for a range of features ``[n, last - first]``."""
        score, probability, distrusted = self._block(first, last)
        if self.contamination is None:
            distrusted = distrusted & (probability > min(0.5, self.threshold_))
        return score, probability, distrusted

    @cached_property
    def flagged_(self) -> Tensor:
        """Bool ``[n, d]``: the cells judged wrong."""
        out = torch.empty(self._view.nodes, self._view.features, dtype=torch.bool, device=self._home)
        for first, last in self._view.ranges():
            out[:, first:last] = self.judged(first, last)[2].to(self._home)
        return out

    @cached_property
    def trust_(self) -> Tensor:
        """1 where the observed value is evidence about its node, else 0: ``[n, d]``."""
        if self._is_row_only():
            return 1 - self.flagged_rows().float()[:, None].expand(-1, self._view.features)
        trust = 1 - self._assemble(2, torch.bool).float()
        return trust if self._view.missing is None else trust.masked_fill(self._view.missing.to(self._home), 0.0)

    @cached_property
    def soft_trust_(self) -> Tensor:
        """``(1 - P)^2``, so that the weight ``M^2`` of the recovery is ``(1 - P)^4``: ``[n, d]``."""
        if self._is_row_only():
            return (1 - self.row_probability()).square()[:, None].expand(-1, self._view.features)
        out = torch.empty(self._view.nodes, self._view.features, device=self._home)
        for first, last in self._view.ranges():
            right = torch.ones(self._view.nodes, last - first, device=self._view.device)
            own, known = self._cells(first, last), self._known(first, last)
            if own is not None:
                right = right * (1 - own[1])
            if self._rho is not None:
                right = right * (1 - self._rho[:, None])
            if known is not None:
                right = right.masked_fill(known, 1.0)
            out[:, first:last] = right.square().to(self._home)
        return out if self._view.missing is None else out.masked_fill(self._view.missing.to(self._home), 0.0)

    def _is_row_only(self) -> bool:
        plain = self._view.missing is None and self._view.trusted is None
        return plain and self._rho is not None and self._cells(0, self._view.columns[0].stop) is None

    def row_probability(self) -> Tensor:
        """Probability ``[n]`` that the whole row is not the node's own; 0 for detectors of cells."""
        return torch.zeros(self._view.nodes, device=self._home) if self._rho is None else self._rho.to(self._home)

    def flagged_rows(self) -> Tensor:
        """Bool ``[n]``: rows judged not to be the node's own."""
        if self.contamination is not None and self._rho is not None:
            return self.node_scores_.to(self._home) > top(self.node_scores_, self.contamination)
        return self.row_probability() > self._node_cut

    @property
    def flagged_nodes_(self) -> Tensor:
        """Bool ``[n]``: the rows judged wrong, and the rows with a cell judged wrong."""
        flagged = self.flagged_rows().to(self._view.device)
        for first, last in self._view.ranges():
            flagged = flagged | self.judged(first, last)[2].any(dim=1)
        return flagged.to(self._home)

    def context_expectation(self) -> Expectation:
        """What the neighbours expect in each cell, with suspicious rows counting less."""
        return Expectation(self._view, (1 - self.row_probability()).to(self._view.device).clamp_min(0.02))

    @property
    def columns_(self) -> list[Column]:
        return self._view.columns

    @property
    def scales_(self) -> Scales:
        return self._view.scales

    def explain(self, limit: int | None = None) -> pd.DataFrame:
        """What is flagged, and why: the most probable first.

        One line for each flagged cell (``kind`` "cell"; ``column`` numbers ``columns_``; ``observed`` and
        ``expected`` in the units of ``x``, category numbers for a categorical column) and one for each flagged row
        (``kind`` "row", ``column`` -1). ``neighbours`` is the number of neighbours the expectation rests on,
        ``unusual`` how many spreads the value lies from what is expected (for rows and 0/1 or categorical columns:
        the log10 of the odds against it).

        Args:
            limit: at most so many lines. (default: all)
        """
        from magnet.detection.explain import explain

        return explain(self, limit)
