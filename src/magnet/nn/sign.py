"""SIGN: a node, its neighbors and theirs are looked at separately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.checks import at_least
from magnet.graph import Graph
from magnet.nn.features import Features
from magnet.nn.mlp import MLP
from magnet.nn.model import Inputs, Nodes
from magnet.nn.sparse import Sparse

#: Random columns from which the spread of the neighborhoods' means is estimated: to 2 % on 100 nodes.
NOISE_COLUMNS = 32
#: A node whose neighbors have almost no other neighbors has no node two steps away.
MAX_RETURN = 1 - 1e-6


class SIGN(MLP):
    r"""An MLP on the features of the node, the mean of its neighbors, and the mean of the nodes two steps away
    ("SIGN: Scalable Inception Graph Neural Networks", Frasca et al., 2020).

    .. math::
        H = \mathrm{relu}\left([X W_0,\; s_1 P_1 X W_1,\; s_2 P_2 X W_2] + b\right)

    with a third of the hidden units each, then the other layers of the MLP. :math:`P_1 = D^{-1} A` leaves the node
    itself out, and so does :math:`P_2`, the rows of :math:`P_1^2` without their diagonal, divided by what is left
    ("Beyond Homophily in Graph Neural Networks", Zhu et al., NeurIPS 2020): the network can learn that neighbors
    differ, which one that adds nodes to their neighbors cannot. The scales :math:`s` give white noise unit variance:
    the means of many nodes are small.

    Args:
        layers: number of layers, at least 2. (default: ``2``)
        options: ``hidden``, ``dropout``, ``input_dropout`` and ``seeds`` of :class:`~magnet.nn.Model`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, layers: int = 2, **options: Any) -> None:
        at_least("layers", layers, 2)
        super().__init__(in_channels, out_channels, layers=layers, **options)

    def prepare(self, features: Features, graph: Graph, nodes: Nodes | None = None, once: bool = False) -> Inputs:
        key = ("neighborhoods", self.like.dtype, self.like.device)
        if key not in graph.cache:
            graph.cache[key] = _Neighborhoods.of(graph, self.like)
        keep = None if nodes is None else torch.as_tensor(nodes, device=self.like.device)
        return Inputs(features, keep=keep, extra=graph.cache[key])

    def compute(self, inputs: Inputs) -> Tensor:
        first, around = self.layers[0], inputs.extra
        own, near, far = inputs.features.linear(first.weight, self.dropout(input=True)).tensor_split(3, dim=2)
        h = torch.cat([own, around.neighbors(near), around.two_steps_away(far)], dim=2)
        return self.upper(inputs.kept(first.shifted(h)))


@dataclass(frozen=True, eq=False)
class _Neighborhoods:
    """The operators of :class:`SIGN` on a graph."""

    mean: Sparse  # P_1
    back: Tensor  # diagonal of P_1^2, [n, 1, 1]
    left: Tensor  # 1 over what the other nodes have of a row of P_1^2, 0 where that is nothing
    scales: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def of(cls, graph: Graph, like: Tensor) -> _Neighborhoods:
        mean = (sp.diags(1.0 / graph.degree_weights) @ graph.adjacency).tocsr()
        back = torch.from_numpy(np.asarray(mean.multiply(mean.T).sum(axis=1))).to(like).unsqueeze(2)
        left = torch.where(back < MAX_RETURN, 1 / (1 - back), 0.0)
        unscaled = cls(Sparse.of(mean, like), back, left)
        noise = torch.randn(graph.num_nodes, 1, NOISE_COLUMNS, generator=torch.Generator().manual_seed(0)).to(like)
        spreads = (float(means(noise).std()) for means in (unscaled.neighbors, unscaled.two_steps_away))
        near, far = (1.0 / spread if spread > 0 else 1.0 for spread in spreads)
        return cls(unscaled.mean, back, left, (near, far))

    def neighbors(self, h: Tensor) -> Tensor:
        return self.scales[0] * (self.mean @ h)

    def two_steps_away(self, h: Tensor) -> Tensor:
        return self.scales[1] * self.left * ((self.mean @ (self.mean @ h)) - self.back * h)
