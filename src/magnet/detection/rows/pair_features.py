"""Features of pairs (node i, row k): how well does row k fit in the neighborhood of node i?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.detection.data.dataset import DetectionData
from magnet.detection.data.edges import nearest_neighbor, neighbor_max, over_rows, segment_max, sparse_contexts
from magnet.detection.data.row_vectors import RowVectors
from magnet.detection.data.scratch import over_cached_rows
from magnet.detection.options import DATA, MIN_SQUARE, MIN_WEIGHT

#: Words of all one-hop sums that are in memory at once (1 GB).
SPARSE_CELLS = 1 << 27


@dataclass(eq=False)
class PairFeatures:
    r"""Cosines between rows and contexts that never contain the row itself.

    With weights :math:`w` of the rows and :math:`\tilde z = z -` the weighted mean,

    .. math::
        c^1 = \frac{A (w \tilde z)}{A w + 1/2}, \qquad
        c^2 = \frac{A A (w \tilde z) - r w \tilde z}{A A w - r w + 1/2}, \qquad r_i = \sum_j A_{ij}^2,

    the features of the pair (node i, row k) are :math:`\cos(c^1_i, \tilde z_k)`, :math:`\cos(c^2_i, \tilde z_k)` and
    :math:`\max_{j \in N(i)} w_j \cos(\tilde z_j, \tilde z_k)`. All of them come from sparse products with the Gram
    matrix of all rows against the probes: there is no ``n x n`` matrix and no dense copy of the features.

    Args:
        data: the data.
        rows: the representation.
        probes: numbers ``[K]`` of the rows that are permuted pairs of every node.
        partners: number ``[n]`` of one more row for each node, a different one for each. (default: none)
    """

    data: DetectionData
    rows: RowVectors
    probes: Tensor
    partners: Tensor | None = None

    def __post_init__(self) -> None:
        self.own = torch.arange(self.data.num_nodes, device=self.data.device)
        self.links = self.rows.link_products(self.data, self.own)
        self.partner_links = None if self.partners is None else self.rows.link_products(self.data, self.partners)

    @cached_property
    def gram(self) -> Tensor:
        """Products ``[n, K]`` of all rows with the probes."""
        return self.rows.times(self.rows.select(self.probes).T.contiguous())

    def _centering(self, w: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Weighted mean ``[k]``, each row's product with it ``[n]``, its square, and the norms of the centered rows."""
        mean = self.rows.mean(w)
        along = self.rows.times(mean[:, None])[:, 0]
        offset = mean @ mean
        return mean, along, offset, (self.rows.square - 2 * along + offset).clamp_min(MIN_SQUARE).sqrt()

    def features(self, w: Tensor, at_probes: bool = True) -> tuple[Tensor, Tensor]:
        """Features ``[n, 3]`` of the real pairs (k = i) and ``[n, K, 3]`` of the permuted ones; where nodes have
        partners, these come first: ``[n, 1 + K, 3]``, or alone, ``[n, 1, 3]``, without those at the probes."""
        data, partners = self.data, self.partners
        mean, along, offset, length = self._centering(w)
        norms, home, away = self._contexts(w, mean)
        norms = norms.sqrt().clamp_min(MIN_WEIGHT)

        def features_of(row: Tensor, dots: Tensor, links: Tensor) -> Tensor:
            """Of node i and row ``row[i]``, from its products with the contexts and with the neighbors."""
            hops = (dot / (norm * length[row]) for dot, norm in zip(dots, norms, strict=True))
            return torch.stack([*hops, self._nearest(row, links, w, along, offset, length)], dim=1)

        real = features_of(self.own, home, self.links)
        first, k = int(partners is not None), self.probes.numel() if at_probes else 0
        permuted = torch.empty(3, data.num_nodes, first + k, device=data.device).permute(1, 2, 0)
        if partners is not None and self.partner_links is not None:
            permuted[:, 0] = features_of(partners, away, self.partner_links)
        if not at_probes:
            return real, permuted
        centered = self.gram - along[:, None] - along[self.probes] + offset
        weighted = centered.mul_(w[:, None])
        for hop, (sums, norm) in enumerate(zip(data.neighbor_sums(weighted), norms, strict=True)):
            torch.div(sums, norm[:, None] * length[self.probes], out=permuted[:, first:, hop])
        permuted[:, first:, 2] = self._neighbor_max(weighted.div_(length[:, None] * length[self.probes]))
        return real, permuted

    def _nearest(self, row: Tensor, links: Tensor, w: Tensor, along: Tensor, offset: Tensor, length: Tensor) -> Tensor:
        """The largest weighted cosine ``[n]`` between the row ``row[i]`` and that of a neighbor of node i."""
        a = self.data.graph.adjacency
        if along.device.type == "cpu":
            out, vectors = torch.empty_like(along), (along.numpy(), np.float32(offset), length.numpy(), w.numpy())
            arrays = a.indptr, a.indices, row.numpy(), links.numpy(), *vectors, out.numpy()
            over_rows(partial(nearest_neighbor, *arrays), a.indptr, 1)
            return out
        left, right = self.data.edges
        at = row[left]
        cosine = w[right] * (links - along[at] - along[right] + offset) / (length[at] * length[right])
        return segment_max(cosine[:, None], self.data.num_neighbors.long())[:, 0]

    def _contexts(self, w: Tensor, mean: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Squared norms of the one-hop and two-hop sums, their products with the row of the node, and with that of its
        partner (0 without one), ``[2, n]`` each."""
        data, partners = self.data, self.partners
        if partners is None and self.rows.matrix is not None and data.device.type == "cpu":
            return self._sparse_contexts(w, mean)
        norms, home, away = torch.zeros(3, 2, data.num_nodes, device=data.device)
        for first, block in self.rows.blocks():
            center, weighted = mean[first : first + block.shape[1]], torch.empty_like(block)

            def weigh(some: slice, block: Tensor = block, center: Tensor = center, out: Tensor = weighted) -> None:
                torch.mul(w[some, None], block[some] - center, out=out[some])

            over_cached_rows(block, weigh)
            near = data.neighbor_sum(weighted)

            def compare(
                some: slice, block: Tensor = block, center: Tensor = center, w_z: Tensor = weighted, near: Tensor = near
            ) -> None:
                for hop, sums in enumerate((near[some], data.far_sums(near, w_z, some))):
                    norms[hop, some] += (sums * sums).sum(dim=1)
                    home[hop, some] += (sums * (block[some] - center)).sum(dim=1)
                    if partners is not None:
                        away[hop, some] += (sums * (block[partners[some]] - center)).sum(dim=1)

            over_cached_rows(block, compare)
        return norms, home, away

    def _sparse_contexts(self, w: Tensor, mean: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The same for sparse rows on a CPU, whose sums have few words, without a dense copy of any of them."""
        data, a = self.data, self.data.links
        near, far = (part[:, 0].numpy() for part in data.neighbor_sums(w[:, None]))
        weighted = sp.csr_matrix((a.data * w.numpy()[a.indices], a.indices, a.indptr), a.shape)
        own, total = (data.return_weight * w).numpy(), np.zeros((data.num_nodes, 4))
        for first, z in self.rows.sparse_blocks(SPARSE_CELLS / max(1.0, a.nnz / data.num_nodes)):
            one, out = weighted @ z, np.empty_like(total)
            parts = [(m.indptr, m.indices, m.data) for m in (a, z, one)]
            vectors = mean.numpy()[first : first + z.shape[1]], own, near, far, out
            over_rows(partial(sparse_contexts, *parts, *vectors), a.indptr, one.nnz // data.num_nodes)
            total += out
        norms, home = torch.from_numpy(total.T.astype(np.float32)).reshape(2, 2, -1)
        return norms, home, torch.zeros_like(home)

    def elsewhere(self, w: Tensor, nodes: Tensor) -> Tensor:
        """Features ``[n, nodes, 3]`` of every row at some nodes."""
        data = self.data
        mean, along, offset, length = self._centering(w)
        out = torch.zeros(3, data.num_nodes, nodes.numel(), device=data.device).permute(1, 2, 0)
        for hop, walks in enumerate(data.walks_from(nodes)):
            weighted = sp.csr_matrix(walks.multiply(w.cpu().numpy()))
            total = torch.from_numpy(weighted.sum(axis=1)).to(mean)
            sums = self.rows.sums(weighted) - total * mean
            dots = self.rows.times(sums.T.contiguous()) - sums @ mean
            out[:, :, hop] = dots / (sums.norm(dim=1).clamp_min(MIN_WEIGHT) * length[:, None])
        a, width = data.graph.adjacency, max(1, DATA.cells_per_block // data.num_nodes)
        for place, node in enumerate(nodes.tolist()):
            nearest: Tensor | None = None
            neighbors = torch.from_numpy(a.indices[a.indptr[node] : a.indptr[node + 1]].astype(np.int64))
            for near in neighbors.to(data.device).split(width):
                dots = self.rows.times(self.rows.select(near).T.contiguous()) - along[:, None] - along[near] + offset
                cosine = (w[near] * dots / (length[:, None] * length[near])).amax(dim=1)
                nearest = cosine if nearest is None else torch.maximum(nearest, cosine)
            assert nearest is not None  # the nodes have neighbors
            out[:, place, 2] = nearest
        return out

    def _neighbor_max(self, values: Tensor) -> Tensor:
        """The maximum over each node's neighbors ``[n, k]`` of values ``[n, k]``."""
        if values.device.type == "cpu":
            a = self.data.graph.adjacency
            return torch.from_numpy(neighbor_max(a.indptr, a.indices, values.numpy()))
        _, right = self.data.edges
        lengths = self.data.num_neighbors.long()
        width = max(1, DATA.cells_per_block // max(1, right.numel()))
        return torch.cat([segment_max(part[right], lengths) for part in values.split(width, dim=1)], dim=1)


def permuted_pairs(data: DetectionData, probes: Tensor) -> Tensor:
    """Bool ``[n, probes]``: the probe is neither this node nor one of its neighbors."""
    number = torch.full((data.num_nodes,), -1, device=data.device)
    number[probes] = torch.arange(probes.numel(), device=data.device)
    allowed = torch.ones(data.num_nodes, probes.numel(), dtype=torch.bool, device=data.device)
    allowed[probes, number[probes]] = False
    a = data.graph.adjacency
    columns = number.cpu().numpy().astype(np.int32)[a.indices]
    hit = np.flatnonzero(columns >= 0)
    row = np.searchsorted(a.indptr, hit, side="right") - 1
    allowed[torch.from_numpy(row), torch.from_numpy(columns[hit].astype(np.int64))] = False
    return allowed


def permuted_partners(data: DetectionData, partners: Tensor) -> Tensor:
    """Bool ``[n]``: the partner is neither the node itself nor one of its neighbors."""
    allowed = partners != torch.arange(data.num_nodes, device=data.device)
    a = data.graph.adjacency
    hit = np.flatnonzero(np.repeat(partners.cpu().numpy(), np.diff(a.indptr)) == a.indices)
    allowed[torch.from_numpy(np.searchsorted(a.indptr, hit, side="right") - 1)] = False
    return allowed
