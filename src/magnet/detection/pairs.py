"""How well does row k fit at place i? Features of such pairs, real (k = i) and permuted."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from magnet.detection.edges import largest_neighbour
from magnet.detection.rows import Rows
from magnet.detection.view import CELLS_PER_BLOCK, View


@dataclass(eq=False)
class Pairs:
    r"""Cosines between rows and contexts that never contain the row itself.

    With weights :math:`w` of the rows and :math:`\tilde z = z -` the weighted mean,

    .. math::
        c^1 = \frac{A (w \tilde z)}{A w + 1/2}, \qquad
        c^2 = \frac{A A (w \tilde z) - r w \tilde z}{A A w - r w + 1/2}, \qquad r_i = \sum_j A_{ij}^2,

    the features of the pair (place i, row k) are :math:`\cos(c^1_i, \tilde z_k)`, :math:`\cos(c^2_i, \tilde z_k)` and
    :math:`\max_{j \in N(i)} w_j \cos(\tilde z_j, \tilde z_k)`. All of them come from sparse products with the Gram
    matrix of all rows against the probes, so no ``n x n`` matrix and no dense copy of the features is ever made.

    Args:
        view: the data.
        rows: the representation.
        probes: numbers of the rows k that serve for the permuted pairs.
    """

    view: View
    rows: Rows
    probes: Tensor

    def __post_init__(self) -> None:
        self.gram = self.rows.times(self.rows.some(self.probes).T.contiguous())
        left, right = self.view.edges
        self.edge = self.rows.dots(left, right)

    def features(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """Features ``[n, 3]`` of the real pairs and ``[n, probes, 3]`` of the permuted ones."""
        view, A = self.view, self.view.adjacency
        mean = self.rows.mean(w)
        along = self.rows.times(mean[:, None])[:, 0]
        offset = mean @ mean
        length = (self.rows.square - 2 * along + offset).clamp_min(1e-12).sqrt()
        centred = self.gram - along[:, None] - along[self.probes] + offset
        n, k = centred.shape

        norm1, norm2, dot1, dot2 = (torch.zeros(n, device=view.device) for _ in range(4))
        for first, block in self.rows.blocks():
            z = block - mean[first : first + block.shape[1]]
            weighted = w[:, None] * z
            p1 = A @ weighted
            p2 = A @ p1 - view.back[:, None] * weighted
            norm1 += p1.square().sum(dim=1)
            norm2 += p2.square().sum(dim=1)
            dot1 += (p1 * z).sum(dim=1)
            dot2 += (p2 * z).sum(dim=1)
        norm1, norm2 = norm1.sqrt().clamp_min(1e-9), norm2.sqrt().clamp_min(1e-9)

        left, right = view.edges
        edge = self.edge - along[left] - along[right] + offset
        edge = w[right] * edge / (length[left] * length[right])
        lengths = view.neighbours.long()
        real = torch.stack(
            [dot1 / (norm1 * length), dot2 / (norm2 * length), largest(edge[:, None], lengths)[:, 0]], dim=1
        )

        permuted = torch.empty(n, k, 3, device=view.device)
        weighted = w[:, None] * centred
        p1 = A @ weighted
        permuted[:, :, 0] = p1 / (norm1[:, None] * length[self.probes])
        permuted[:, :, 1] = (A @ p1 - view.back[:, None] * weighted) / (norm2[:, None] * length[self.probes])
        cosine = weighted / (length[:, None] * length[self.probes])
        permuted[:, :, 2] = self._largest(cosine)
        return real, permuted

    def _largest(self, values: Tensor) -> Tensor:
        """The maximum over each node's neighbours ``[n, k]`` of values ``[n, k]``."""
        if values.device.type == "cpu":
            a = self.view.graph.adjacency
            return torch.from_numpy(largest_neighbour(a.indptr, a.indices, values.numpy()))
        _, right = self.view.edges
        lengths = self.view.neighbours.long()
        width = max(1, CELLS_PER_BLOCK // max(1, right.numel()))
        return torch.cat([largest(part[right], lengths) for part in values.split(width, dim=1)], dim=1)


def largest(values: Tensor, lengths: Tensor) -> Tensor:
    """The maximum over each consecutive group of rows; 0 for empty groups."""
    top = torch.segment_reduce(values, "max", lengths=lengths, axis=0, unsafe=True)
    return torch.where(lengths[:, None] > 0, top, torch.zeros((), device=values.device))
