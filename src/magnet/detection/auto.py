"""``auto``: rows and cells together, where the context has something to say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from magnet.detection.base import Detector
from magnet.detection.cell import Cell
from magnet.detection.context import Context
from magnet.detection.expectation import Expectation
from magnet.detection.view import View


@dataclass(kw_only=True, eq=False, repr=False)
class Auto(Detector):
    r"""First the gate: does the context say anything about the rows? Where it does, :class:`Context` looks for rows
    that are not the node's own and :class:`Cell`, with the suspicious rows out of the contexts, for single cells:

    .. math::
        \Pr(\text{wrong}) = 1 - (1 - P_{ij}) (1 - \rho_i c_{ij})

    A row with wrong cells whose others follow its neighbours is the node's own: its :math:`\rho` is lowered.
    Where the context says too little no row is flagged, and ``gate_.reason`` says why; where it says next to nothing,
    only numbers that are impossible for their column are. Nor are rows judged by nearest neighbours that were chosen by
    the rows themselves (``data.edges_from_rows``).
    """

    def _detect(self, view: View) -> None:
        self._rows = Context(gated=True, seed=self.seed, progress=self.progress)
        self._rows.fit_view(self._without_wrong_cells(view))
        self.gate_ = self._rows.gate_
        assert self.gate_ is not None
        assert self._rows._rho is not None
        rho, ungated = self._rows._rho, self._rows._ungated
        if view.from_rows:  # every row is like neighbours that were chosen to be like it
            rho, ungated = torch.zeros_like(rho), torch.zeros_like(ungated)
        weights = (1 - rho).clamp_min(0.02) / self._rows._copies
        self._single = Cell(weights=weights, context=self.gate_.cells, seed=self.seed, progress=self.progress)
        self._single.fit_view(view)
        own = self._single.among_neighbours()
        self._rho = rho = rho * (1 - own)
        self._expected = self.context_expectation()
        single = self._single.node_probability_
        self.node_probability_ = 1 - (1 - rho) * (1 - single)
        # Rows are ranked by what would be believed if the gate were open, ties by the evidence itself.
        self._suspected = ungated * (1 - own)
        either = 1 - (1 - self._suspected) * (1 - single)
        odds = torch.log((either + 1e-6) / (1 - either + 1e-6))
        self.node_scores_ = odds + 0.01 * (self._single.node_scores_.clamp(-30, 30) - self._rows._logit)
        self.share_ = float(self.node_probability_.mean())

    def _without_wrong_cells(self, view: View) -> View:
        """In a table of few columns one wild cell makes its whole row look foreign: there the rows are judged without
        such cells."""
        if not view.narrow:
            return view
        assert view.x is not None
        single = Cell(rounds=1, seed=self.seed).fit_view(view)
        x = view.x.clone()
        for first, last in view.ranges():
            x[:, first:last].masked_fill_(single.judged(first, last)[2], float("nan"))
        return replace(view, x=x)

    def _cells(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        return self._single._cells(first, last)

    def _suspicion(self) -> Tensor:
        return self._suspected

    def _differs(self, first: int, last: int) -> Tensor:
        return self._expected.differs(first, last)

    def context_expectation(self) -> Expectation:
        assert self._rho is not None
        return Expectation(self._view, (1 - self._rho).clamp_min(0.02) / self._rows._copies)
