"""The multilayer perceptron, which does not look at the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from magnet.graph import Graph
from magnet.nn.features import Features
from magnet.nn.model import Inputs, Model, Nodes


class MLP(Model):
    r"""Fully connected layers with relu between them, dropout before each.

    .. math:: H_{l+1} = \mathrm{relu}(H_l W_l + b_l)

    Args:
        layers: number of layers. (default: ``2``)
        options: ``hidden``, ``dropout``, ``input_dropout`` and ``seeds`` of :class:`~magnet.nn.Model`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, layers: int = 2, **options: Any) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.layers = self.stacked(layers)

    def prepare(self, features: Features, graph: Graph, nodes: Nodes | None = None, once: bool = False) -> Inputs:
        return Inputs(features.take(nodes))

    def compute(self, inputs: Inputs) -> Tensor:
        return self.perceptron(inputs.features)

    def perceptron(self, features: Features, after: Callable[[Tensor], Tensor] = lambda h: h) -> Tensor:
        """The scores ``[n, S, classes]``; ``after`` is applied to the output of every layer."""
        first = self.layers[0]
        return self.upper(after(first.shifted(features.linear(first.weight, self.dropout(input=True)))), after)

    def upper(self, h: Tensor, after: Callable[[Tensor], Tensor] = lambda h: h) -> Tensor:
        """All layers but the first, from its output."""
        for layer in list(self.layers)[1:]:
            h = after(layer(self.dropout()(h.relu())))
        return h
