r"""GADC ("Graph Adversarial Diffusion Convolution", Liu et al., ICML 2024) denoises under the worst perturbation of the
Laplacian,

.. math::
    \min_F\ \|F - X\|_F^2 + \lambda \max_{\|L' - L\|_F \le \epsilon} \mathrm{tr}(F^\top L' F).

The maximum is at :math:`L' = L + \epsilon F F^\top / \|F F^\top\|_F`; with :math:`X X^\top` in its place the minimum is
a Neumann series, truncated after K terms; a perceptron that does not use the graph classifies the result:

.. math::
    F = \frac{1}{\lambda + 1} \sum_{k=0}^{K} \Bigl[\frac{\lambda}{\lambda + 1}
        \Bigl(\tilde A - \epsilon \frac{X X^\top}{\|X X^\top\|_F}\Bigr)\Bigr]^k X.
"""

from __future__ import annotations

import torch
from torch import Tensor

from magnet.experiments.methods.base import NETWORK, PAPER_SPACE, PAPER_TRAINING, Config, Method, RepairCandidates
from magnet.experiments.protocol.data import Repetition
from magnet.graph import Graph
from magnet.nn import MLP
from magnet.nn.sparse import Sparse
from magnet.recovery.candidates import Candidate

MIN_NORM = 1e-12  # of the features, so that quotients are finite


def diffused(x: Tensor, graph: Graph, lam: float, epsilon: float, degree: int) -> Tensor:
    """The features of GADC.

    Args:
        x: features ``[n, d]``.
        graph: the graph.
        lam: weight of the smoothness.
        epsilon: how far the Laplacian may be off.
        degree: K, the number of steps.
    """
    smooth = Sparse.of(graph.self_looped, x, symmetric=True)
    norm = float(torch.linalg.norm(x.T @ x if x.shape[1] <= x.shape[0] else x @ x.T))
    total = term = x
    for _ in range(degree):
        term = lam / (lam + 1) * (smooth @ term - epsilon / max(norm, MIN_NORM) * (x @ (x.T @ term)))
        total = total + term
    return total / (lam + 1)


def _gadc(repetition: Repetition, config: Config) -> RepairCandidates:
    amounts = config["lam"], config["epsilon"], config["degree"]
    return RepairCandidates([Candidate("diffused", lambda: diffused(repetition.x, repetition.graph, *amounts))])


GADC = Method(
    name="gadc",
    title="GADC",
    settings={**PAPER_TRAINING, **NETWORK, "learning_rate": 0.02, "weight_decay": 1e-5},
    repair_settings={"lam": 64.0, "epsilon": 1e-5, "degree": 32},  # as published for citation graphs
    space={
        **PAPER_SPACE,
        **{"learning_rate": [1e-3, 5e-3, 1e-4, 0.02, 0.2], "weight_decay": [1e-3, 5e-3, 1e-4, 1e-5]},
        **{"layers": [1, 2], "hidden": [32, 64, 128], "scaling": ["none", "rows"]},
        **{"lam": [1.0, 16.0, 64.0], "epsilon": [1e-5, 1e-3, 1e-1], "degree": [6, 16, 32]},
    },
    model=MLP,
    repair=_gadc,
    source="the paper's Table 3 and the settings of Liu et al. 2024 (one linear layer with learning rate 0.2, or 32 "
    "hidden units with 0.02, weight decay 1e-5; lambda 1 to 64, epsilon 1e-5 or 0.1, 6 to 32 steps)",
)
