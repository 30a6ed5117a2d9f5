"""Graph convolutional networks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from magnet.graph import Graph
from magnet.nn.features import Features
from magnet.nn.layers import BatchNorm
from magnet.nn.model import Inputs, Model, Nodes
from magnet.nn.sparse import Sparse


class GCN(Model):
    r"""The graph convolutional network ("Semi-Supervised Classification with Graph Convolutional Networks", Kipf &
    Welling, ICLR 2017).

    .. math::
        H_{l+1} = \mathrm{relu}(\tilde A\, H_l W_l + b_l), \qquad
        \tilde A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2},

    without the relu at the end. Dropout comes before each product with a weight.

    Args:
        layers: number of layers. (default: ``2``)
        batch_norm: normalize hidden layers over the nodes, as is usual on ogbn-arxiv. (default: ``False``)
        options: ``hidden``, ``dropout``, ``input_dropout`` and ``seeds`` of :class:`~magnet.nn.Model`.

    Example:
        >>> import torch
        >>> model = GCN(3, 2, hidden=8)
        >>> model(torch.ones(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
        torch.Size([4, 2])
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, layers: int = 2, batch_norm: bool = False, **options: Any
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.layers = self.stacked(layers, kind="glorot")
        norms = [BatchNorm(len(self.seeds), self.hidden) for _ in range(layers - 1)] if batch_norm else []
        self.norms = nn.ModuleList(norms)

    def prepare(self, features: Features, graph: Graph, nodes: Nodes | None = None, once: bool = False) -> Inputs:
        """Each layer only where the next one looks. The first propagation is put into the features where that saves
        work, which needs that they are not dropped."""
        matrix, keep = graph.self_looped, None
        if len(self.norms) and nodes is not None:  # the norms are over all nodes
            keep, nodes = torch.as_tensor(nodes, device=self.like.device), None
        fields: list[Nodes | None] = [nodes]
        for _ in self.layers:
            last = fields[-1]
            fields.append(None if last is None else np.unique(matrix[last].indices))
        parts = [_submatrix(matrix, to, source) for to, source in pairwise(fields)][::-1]
        taken, propagated = features.take(fields[-1]), False
        has_gradient = features.dense is not None and features.dense.requires_grad
        if not once and not has_gradient and not self.dropout(input=True).active:
            early = features.propagated(matrix if fields[-2] is None else matrix[fields[-2]])
            if early.stored <= taken.stored + parts[0].nnz * features.count:
                taken, propagated = early, True
        operators = [Sparse.of(part, self.like, symmetric=nodes is None) for part in parts[int(propagated) :]]
        return Inputs(taken, operators, propagated, keep)

    def compute(self, inputs: Inputs) -> Tensor:
        first = self.layers[0]
        h = inputs.features.linear(first.weight, self.dropout(input=True))
        operators = list(inputs.operators)
        if not inputs.propagated:
            h = operators.pop(0) @ h
        h = first.shifted(h)
        norms = list(self.norms) or [nn.Identity()] * len(operators)
        for layer, norm, operator in zip(list(self.layers)[1:], norms, operators, strict=True):
            h = layer.shifted(operator @ layer.product(self.dropout()(norm(h).relu())))
        return inputs.kept(h)


def _submatrix(matrix: sp.csr_matrix, rows: Nodes | None, columns: Nodes | None) -> sp.csr_matrix:
    part = matrix if rows is None else matrix[rows]
    return part if columns is None else part[:, columns].tocsr()
