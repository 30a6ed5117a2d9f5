"""Graph convolutional networks."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from magnet.graph import Graph
from magnet.nn.features import Features
from magnet.nn.layers import BatchNorm
from magnet.nn.model import Inputs, Model, Nodes


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
        return self.hop_inputs(features, graph, nodes, len(self.layers), once, whole=len(self.norms) > 0)

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
