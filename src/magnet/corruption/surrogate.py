r"""The surrogate of the meta attack: a linear two-layer GCN, trained by unrolled gradient descent.

With :math:`\hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}` and :math:`P = \hat A^2 X` the surrogate
predicts :math:`\mathrm{softmax}(P W_1 W_2)`. It is trained for a fixed number of steps with momentum on the
cross-entropy of the training rows :math:`P_t`, so the trained weights depend on :math:`X` only through these
few rows. The loss of the attack is the cross-entropy of all other rows against fixed labels. Exactly,

.. math::
    \frac{dL}{dX} = \hat A^2 G (W_1 W_2)^\top + (\hat A^2)_{t,:}^\top \frac{dL}{dP_t},
    \qquad G = \frac{\partial L}{\partial (P W_1 W_2)},

where the second term carries the whole training. Only :math:`P_t` (a few hundred rows) and the weights enter
the unrolled graph, so that memory is linear in nodes x features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import one_hot, softmax

from magnet.arrays import to_torch_csr
from magnet.graph import Graph

Weights = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A linear GCN on a fixed graph."""

    propagation: torch.Tensor  # A_hat, sparse
    train_rows: torch.Tensor  # the rows of A_hat^2 that belong to the training nodes, sparse
    train_columns: torch.Tensor  # their transpose, sparse
    train: torch.Tensor  # indices of the training nodes
    classes: int
    hidden: int = 16
    steps: int = 100
    learning_rate: float = 0.1
    momentum: float = 0.9

    @classmethod
    def build(
        cls, edge_index: torch.Tensor, train_mask: torch.Tensor, classes: int, like: torch.Tensor, **options: Any
    ) -> Surrogate:
        """The surrogate of a graph, with the dtype and device of ``like``."""
        a_hat = Graph.from_edges(edge_index, train_mask.numel()).self_looped
        train = train_mask.nonzero().ravel().cpu()
        rows = a_hat[train.numpy()] @ a_hat
        return cls(
            to_torch_csr(a_hat, like.dtype, like.device),
            to_torch_csr(rows, like.dtype, like.device),
            to_torch_csr(rows.T.tocsr(), like.dtype, like.device),
            train.to(like.device),
            classes,
            **options,
        )

    def initial(self, features: int, generator: torch.Generator) -> Weights:
        """Glorot-uniform weights, drawn on the CPU so that they do not depend on the device."""
        return self._glorot(features, self.hidden, generator), self._glorot(self.hidden, self.classes, generator)

    def _glorot(self, rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
        bound = (6 / (rows + columns)) ** 0.5
        values = bound * (2 * torch.rand(rows, columns, generator=generator) - 1)
        return values.to(self.propagation.device, self.propagation.dtype)

    def fit(self, train_x: torch.Tensor, y: torch.Tensor, weights: Weights) -> Weights:
        r"""Weights after training on the propagated training rows ``train_x`` (:math:`P_t`).

        The gradients are written out, so that the result stays differentiable in ``train_x``:
        :math:`E = (\mathrm{softmax}(P_t W_1 W_2) - Y) / t`,
        :math:`\nabla_1 = P_t^\top E W_2^\top`, :math:`\nabla_2 = W_1^\top P_t^\top E`.
        """
        first, second = weights
        truth = one_hot(y, self.classes).to(train_x.dtype)
        v1, v2 = torch.zeros_like(first), torch.zeros_like(second)
        for _ in range(self.steps):
            hidden = train_x @ first
            error = (softmax(hidden @ second, dim=1) - truth) / y.numel()
            v1 = self.momentum * v1 + train_x.T @ (error @ second.T)
            v2 = self.momentum * v2 + hidden.T @ error
            first, second = first - self.learning_rate * v1, second - self.learning_rate * v2
        return first, second

    def logits(self, x: torch.Tensor, weights: Weights) -> torch.Tensor:
        """``A_hat^2 X W_1 W_2``."""
        return self.propagation @ (self.propagation @ (x @ weights[0] @ weights[1]))

    def predict(self, x: torch.Tensor, y: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Labels of all nodes: the given ones on training nodes, the trained surrogate's elsewhere."""
        weights = self.fit(self.train_rows @ x, y[self.train], self.initial(x.shape[1], generator))
        labels = self.logits(x, weights).argmax(dim=1)
        labels[self.train] = y[self.train]
        return labels

    def meta_gradient(self, x: torch.Tensor, labels: torch.Tensor, initial: Weights) -> torch.Tensor:
        """The exact derivative, with respect to ``x``, of the cross-entropy on the nodes outside the training set after
        training on ``x``."""
        train_x = (self.train_rows @ x).requires_grad_()
        first, second = self.fit(train_x, labels[self.train], initial)
        with torch.no_grad():
            others = torch.ones_like(labels, dtype=torch.bool)
            others[self.train] = False
            truth = one_hot(labels, self.classes).to(x.dtype)
            slope = (softmax(self.logits(x, (first, second)), dim=1) - truth) * others[:, None] / others.sum()
            slope = self.propagation @ (self.propagation @ slope)
            through_features = x.T @ slope
            weight_slopes = (through_features @ second.T, first.T @ through_features)
        (train_slope,) = torch.autograd.grad((first, second), train_x, weight_slopes)
        with torch.no_grad():
            return slope @ (first @ second).T + self.train_columns @ train_slope
