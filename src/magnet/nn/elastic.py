"""ElasticGNN: propagation that may stop at an edge."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from magnet.checks import one_of
from magnet.graph import Graph
from magnet.nn.appnp import Propagating, personalized, steps_on_cpu
from magnet.nn.features import Features
from magnet.nn.model import Inputs, Nodes, Numbers
from magnet.nn.sparse import Sparse, incidence


class ElasticGNN(Propagating):
    r"""Elastic message passing ("Elastic Graph Neural Networks", Liu et al., ICML 2021).

    K steps of a primal-dual method on

    .. math::
        \min_F \lambda_1 \|\tilde\Delta F\|_{21} + \frac{\lambda_2}{2} \mathrm{tr}(F^\top (I - \tilde A) F)
        + \frac12 \|F - H\|_F^2, \qquad \tilde\Delta^\top \tilde\Delta = I - \tilde A,

    from :math:`F_0 = H = \mathrm{MLP}(X)`, :math:`Z_0 = 0`, with :math:`\gamma = 1 / (1 + \lambda_2)` and
    :math:`\beta = 1 / (2 \gamma)`:

    .. math::
        Y &= \gamma H + (1 - \gamma) \tilde A F_k \\
        \bar F &= Y - \gamma \tilde\Delta^\top Z_k \\
        \bar Z &= Z_k + \beta \tilde\Delta \bar F \\
        Z_{k+1} &= \mathrm{prox}_{\beta g^*}(\bar Z) =
            \bar Z_i \min(1, \lambda_1 / \|\bar Z_i\|_2) \text{ for each edge } i
            \quad (\ell_1\text{: each entry clipped to } \pm\lambda_1) \\
        F_{k+1} &= Y - \gamma \tilde\Delta^\top Z_{k+1}

    :math:`\tilde\Delta^\top Z_{k+1}` is what the next step begins with, so that a step takes three sparse products.
    With :math:`\lambda_1 = 0` this is APPNP with :math:`\alpha = \gamma`.

    Args:
        lambda1: weight of the sparse differences, one number or one for each model. (default: ``3``)
        lambda2: weight of the smooth differences, likewise. (default: ``3``)
        norm: ``"l21"``, which compares the nodes of an edge as a whole, or ``"l1"``. (default: ``"l21"``)
        options: ``steps``, ``layers`` and ``blocks`` of :class:`~magnet.nn.Propagating`, and ``hidden``, ``dropout``,
            ``input_dropout`` and ``seeds`` of :class:`~magnet.nn.Model`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        lambda1: Numbers = 3.0,
        lambda2: Numbers = 3.0,
        norm: Literal["l21", "l1"] = "l21",
        **options: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        self.lambda1, self.lambda2 = self.per_model("lambda1", lambda1), self.per_model("lambda2", lambda2)
        if min(*self.lambda1, *self.lambda2) < 0:
            raise ValueError(f"lambda1 is {lambda1} and lambda2 {lambda2}; they must not be negative")
        one_of("norm", norm, ("l21", "l1"))
        self.norm = norm

    def prepare(self, features: Features, graph: Graph, nodes: Nodes | None = None, once: bool = False) -> Inputs:
        key = ("incidence", self.like.dtype, self.like.device)
        if key not in graph.cache:
            graph.cache[key] = Sparse.of(incidence(graph), self.like)
        return self.whole_inputs(features, graph, nodes, extra=graph.cache[key])

    def propagate(self, h: Tensor, inputs: Inputs) -> Tensor:
        operator, delta = inputs.operators[0], inputs.extra
        gamma = self.vector([1 / (1 + value) for value in self.lambda2])
        if not any(self.lambda1) or delta.shape[0] == 0:
            return personalized(h, operator, gamma, self.steps)
        beta, radius = 1 / (2 * gamma), self.vector(self.lambda1)
        start, smooth = gamma * h, 1 - gamma
        if self.norm == "l21" and (cpu := steps_on_cpu(h)):
            return cpu.run(h, cpu.ELASTIC_STEPS, operator, torch.cat([gamma, radius], dim=2)[0], self.steps, delta)
        f, z, pulled = h, None, None  # pulled = gamma * delta^T Z
        for _ in range(self.steps):
            y = start + smooth * (operator @ f)
            bar = beta * (delta @ (y if pulled is None else y - pulled))
            z = self._dual(bar if z is None else z + bar, radius)
            pulled = gamma * (delta.t @ z)
            f = y - pulled
        return f

    def _dual(self, z: Tensor, radius: Tensor) -> Tensor:
        """Projection onto the ball of the dual norm: the proximal map of the conjugate penalty."""
        if self.norm == "l1":
            return torch.minimum(torch.maximum(z, -radius), radius)
        # a length of zero has no direction; its gradient must not become NaN
        square = z.square().sum(dim=2, keepdim=True)
        length = torch.where(square > 0, square, torch.ones_like(square)).sqrt()
        # not clamped afterwards: the gradient of radius / length overflows for the shortest differences
        return z * torch.where(square > 0, radius / torch.maximum(length, radius), torch.ones_like(square))
