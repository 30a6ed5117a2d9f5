"""GNNGuard: edges between unlike nodes count less."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.graph import Graph
from magnet.nn.features import Features, unweave, weave
from magnet.nn.gcn import GCN
from magnet.nn.model import Inputs, Nodes, Numbers
from magnet.nn.sparse import Sparse

#: Numbers that are multiplied at a time: dense rows, and the entries of sparse ones. Both bound memory.
DENSE_AT_ONCE, SPARSE_AT_ONCE = 1 << 24, 1 << 22
TINY = 1e-12  # in a denominator that may be 0


@dataclass(frozen=True, eq=False)
class _Edges:
    """Directed edges sorted by their receiver, without loops: ``to`` and ``source`` are places in their own fields."""

    to: Tensor
    source: Tensor
    self_place: Tensor  # where each receiver is among the sources
    weight: Tensor  # [edges, 1]
    edge: Tensor  # its number in the whole graph


@dataclass(frozen=True, eq=False)
class _Guarded:
    """What GNNGuard prepares: the edges of each layer and the guard of the first, ``[edges, R]`` and ``[n, R]``, which
    depends on the features alone."""

    edges: list[_Edges]
    guard: Tensor
    own: Tensor
    first: Sparse  # the same as one matrix, R of them woven into one as in Features


class GNNGuard(GCN):
    r"""A GCN with edges weighted by the similarity of their nodes ("GNNGuard", Zhang & Zitnik, NeurIPS 2020).

    With :math:`s_{uv} = \cos(h_u, h_v)` of the layer's input where that is at least ``threshold`` and 0 elsewhere, and
    :math:`N_u` the number of neighbors :math:`v` of :math:`u` with :math:`s_{uv} > 0`,

    .. math::
        \alpha_{uv} = \frac{s_{uv}}{\sum_w s_{uw}} \cdot \frac{N_u}{N_u + 1}, \qquad
        \alpha_{uu} = \frac{1}{N_u + 1}, \qquad
        \omega^{(l)} = \beta\,\omega^{(l-1)} + (1 - \beta)\,\alpha^{(l)} \quad (\omega^{(1)} = \alpha^{(1)}),

    and a layer is :math:`H_{l+1} = \mathrm{relu}(\omega^{(l)} H_l W_l + b_l)`. On features that are all alike this is
    the mean over a node and its neighbors. Edge weights multiply the similarities. As in the authors' code the guard
    carries no gradient and the memory is off by default; the similarity of an edge is computed for that edge alone, so
    that no ``n x n`` matrix is ever formed. (That code also exponentiates the weights and normalizes them once more as
    a GCN does; here are the equations of the paper.)

    Args:
        threshold: similarities below it prune the edge. (default: ``0.1``)
        memory: :math:`\beta`, the part of the guard kept from the layer before, one number or one for each model.
            (default: ``0``)
        options: further arguments of :class:`~magnet.nn.GCN`: ``layers``, ``hidden``, ``dropout`` ...
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, threshold: float = 0.1, memory: Numbers = 0.0, **options: Any
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.threshold, self.memory = threshold, self.per_model("memory", memory)
        if not all(0 <= value <= 1 for value in self.memory):
            raise ValueError(f"memory is {memory}; it must be in [0, 1]")

    def prepare(self, features: Features, graph: Graph, nodes: Nodes | None = None, once: bool = False) -> Inputs:
        adjacency = graph.adjacency.tocsr()
        hops, count = len(self.layers), graph.num_nodes
        fields = [np.arange(count) if nodes is None else nodes]
        looped = (adjacency + sp.identity(count)).tocsr()
        for _ in range(hops):
            fields.append(np.unique(looped[fields[-1]].indices))
        numbered = adjacency.copy()
        numbered.data = np.arange(1, adjacency.nnz + 1, dtype=np.float64)
        edges = [self._edges(adjacency, numbered, to, source) for to, source in pairwise(fields)]
        edges.reverse()
        key = f"similarity {id(graph)}"
        if key not in features.cache:
            rows = np.repeat(np.arange(count), np.diff(adjacency.indptr))
            features.cache[key] = _similarities(features, rows, adjacency.indices)
        similarity = features.cache[key][edges[0].edge]
        guard, own = self._guard(similarity, edges[0], fields[-2].size)
        first = _woven(edges[0], guard, own, (fields[-2].size, fields[-1].size), self.like)
        return Inputs(features.take(fields[-1]), extra=_Guarded(edges, guard, own, first))

    def _edges(self, adjacency: sp.csr_matrix, numbered: sp.csr_matrix, to: Nodes, source: Nodes) -> _Edges:
        place = np.full(adjacency.shape[0], -1)
        place[source] = np.arange(source.size)
        part = numbered[to]
        receiver = np.repeat(np.arange(to.size), np.diff(part.indptr))
        edge = part.data.astype(np.int64) - 1
        device = self.like.device
        return _Edges(
            torch.from_numpy(receiver).to(device),
            torch.from_numpy(place[part.indices]).to(device),
            torch.from_numpy(place[to]).to(device),
            torch.from_numpy(adjacency.data[edge]).to(self.like).unsqueeze(1),
            torch.from_numpy(edge).to(device),
        )

    def _guard(self, similarity: Tensor, edges: _Edges, receivers: int) -> tuple[Tensor, Tensor]:
        """The weights of the edges and of the nodes themselves, from similarities ``[edges, k]``."""
        s = torch.where(similarity >= self.threshold, similarity * edges.weight, torch.zeros_like(similarity))
        zeros = s.new_zeros(receivers, s.shape[1])
        total = zeros.index_add(0, edges.to, s)
        alike = zeros.index_add(0, edges.to, (s > 0).to(s))
        share = torch.where(total > 0, alike / (alike + 1) / total.clamp(min=TINY), torch.zeros_like(total))
        return s * share[edges.to], 1 / (alike + 1)

    def compute(self, inputs: Inputs) -> Tensor:
        prepared: _Guarded = inputs.extra
        count = len(self.seeds)
        first = self.layers[0]
        h = inputs.features.linear(first.weight, self.dropout(input=True))
        matrices = prepared.guard.shape[1]
        guard, own = (part.repeat_interleave(count // matrices, dim=1) for part in (prepared.guard, prepared.own))
        h = (prepared.first @ h.reshape(h.shape[0] * matrices, -1)).view(-1, count, h.shape[2])
        h = first.shifted(h)
        for layer, edges, before in zip(list(self.layers)[1:], prepared.edges[1:], prepared.edges, strict=False):
            h = h.relu()
            new_guard, new_own = self._guard(
                _cosine(h, edges.self_place[edges.to], edges.source), edges, edges.self_place.numel()
            )
            if any(self.memory):
                kept_edge, beta = torch.searchsorted(before.edge, edges.edge), self.vector(self.memory)[:, :, 0]
                new_guard = beta * guard[kept_edge] + (1 - beta) * new_guard
                new_own = beta * own[edges.self_place] + (1 - beta) * new_own
            guard, own = new_guard, new_own
            h = layer.shifted(_aggregate(layer.product(self.dropout()(h)), edges, guard, own))
        return h


def _woven(edges: _Edges, guard: Tensor, own: Tensor, shape: tuple[int, int], like: Tensor) -> Sparse:
    """The guard ``[edges, R]`` as one matrix of shape ``[to R, source R]``."""
    count = guard.shape[1]
    to, source, itself = (part.cpu().numpy() for part in (edges.to, edges.source, edges.self_place))
    parts = []
    for r in range(count):
        values = np.concatenate([guard[:, r].cpu().numpy(), own[:, r].cpu().numpy()])
        places = (np.concatenate([to, np.arange(shape[0])]), np.concatenate([source, itself]))
        parts.append(sp.csr_matrix((values, places), shape=shape))
    return Sparse.of(weave(parts), like)


def _aggregate(h: Tensor, edges: _Edges, guard: Tensor, own: Tensor) -> Tensor:
    """``sum_v omega_uv h_v`` ``[receivers, S, k]``."""
    out = own.unsqueeze(2) * h[edges.self_place]
    return out.index_add(0, edges.to, guard.unsqueeze(2) * h[edges.source])


@torch.no_grad()
def _cosine(h: Tensor, one: Tensor, two: Tensor) -> Tensor:
    """Cosine of the two ends of each edge, ``[edges, S]``, in pieces that stay small."""
    unit = h / torch.linalg.vector_norm(h, dim=2, keepdim=True).clamp(min=TINY)
    step = max(1, DENSE_AT_ONCE // (h.shape[1] * h.shape[2]))
    parts = [
        (unit[one[start : start + step]] * unit[two[start : start + step]]).sum(dim=2)
        for start in range(0, one.numel(), step)
    ]
    return torch.cat(parts) if parts else h.new_zeros(0, h.shape[1])


def _similarities(features: Features, rows: Nodes, cols: Nodes) -> Tensor:
    """Cosine of the features of the two ends of each edge, ``[edges, R]``."""
    if features.dense is not None:
        ends = [torch.as_tensor(part, device=features.dense.device) for part in (rows, cols)]
        return torch.stack([_cosine(x.unsqueeze(1), *ends)[:, 0] for x in features.dense.detach()], dim=1)
    assert features.sparse is not None
    similar = []
    for part in unweave(features.sparse, features.count):
        norm = np.sqrt(np.asarray(part.multiply(part).sum(axis=1)).ravel())
        unit = (sp.diags(1 / np.maximum(norm, TINY)) @ part).tocsr()
        step = max(1, SPARSE_AT_ONCE // max(1, int(part.nnz / max(1, part.shape[0])) + 1))
        pieces = [
            np.asarray(unit[rows[a : a + step]].multiply(unit[cols[a : a + step]]).sum(axis=1)).ravel()
            for a in range(0, rows.size, step)
        ]
        similar.append(np.concatenate(pieces) if pieces else np.zeros(0))
    return torch.from_numpy(np.stack(similar, axis=1)).to(features.like)
