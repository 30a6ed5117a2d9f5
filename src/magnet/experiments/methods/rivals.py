r"""Two later defences against noisy features, from their papers' equations: GADC and UGD.

GADC ("Graph Adversarial Diffusion Convolution", Liu et al., ICML 2024) denoises under the worst perturbation of the
Laplacian,

.. math::
    \min_F\ \|F - X\|_F^2 + \lambda \max_{\|L' - L\|_F \le \epsilon} \mathrm{tr}(F^\top L' F).

The maximum is at :math:`L' = L + \epsilon F F^\top / \|F F^\top\|_F`; with :math:`X X^\top` in its place the minimum is
a Neumann series, cut off at K, in front of a perceptron that does not look at the graph:

.. math::
    F = \frac{1}{\lambda + 1} \sum_{k=0}^{K} \Bigl[\frac{\lambda}{\lambda + 1}
        \Bigl(\tilde A - \epsilon \frac{X X^\top}{\|X X^\top\|_F}\Bigr)\Bigr]^k X.

UGD ("You Can't Ignore Either: Unifying Structure and Feature Denoising for Robust Graph Learning", Yang et al., CIKM
2024) takes turns. An edge goes where a row does not fit the neighborhood at its other end,

.. math:: \min\{\sigma(\cos(p_u, x_v)), \sigma(\cos(p_v, x_u))\} < \theta, \qquad p_u = \mathrm{mean}_{v \sim u}\, x_v,

and on the edges that are left a graph autoencoder :math:`\hat X` (two layers each way) with

.. math:: \tilde X = \beta X + (1 - \beta) \hat X, \qquad
    \min\ \tfrac1n \sum_i \|x_i - \tilde x_i\| + \gamma\, \mathrm{tr}(\tilde X^\top L \tilde X)

refines the features, until no edge goes any more. A GCN is trained on what is left.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.detection.gae import recorded
from magnet.experiments.methods.base import (
    NETWORK,
    PAPER_GCN,
    PAPER_SPACE,
    PAPER_TRAINING,
    Config,
    Method,
    RepairCandidates,
)
from magnet.experiments.protocol.data import Repetition
from magnet.graph import Graph
from magnet.nn import MLP
from magnet.nn.layers import Linear
from magnet.nn.sparse import Sparse, self_looped
from magnet.recovery.candidates import Candidate

#: The schedule of UGD, as published: the loss must fall below its mean over so many epochs (in the first round, later),
#: or the round ends; there are at least so many rounds; the threshold rises by a step in each of them, to a maximum
#: above its start; the first round takes another one.
FIRST_WINDOW, WINDOW, MIN_ROUNDS, MAX_EPOCHS = 60, 20, 4, 5000
FIRST_THRESHOLD, THRESHOLD_STEP, THRESHOLD_RISE = 0.5, 0.005, 0.02
#: Numbers a node that the autoencoder keeps, as published.
HIDDEN = 64
#: Features with fewer nonzero cells than this are multiplied as a sparse matrix.
SPARSE_SHARE = 0.1
#: Cells that are compared at once when edges are judged (1 GiB).
CELLS_AT_ONCE = 1 << 28


def diffused(x: Tensor, graph: Graph, lam: float, epsilon: float, degree: int) -> Tensor:
    """The features of GADC.

    Args:
        x: features ``[n, d]``.
        graph: the graph.
        lam: weight of the smoothness.
        epsilon: how far the Laplacian may be off.
        degree: K, the number of steps.
    """
    smooth = Sparse.of(self_looped(graph), x, symmetric=True)
    norm = float(torch.linalg.norm(x.T @ x if x.shape[1] <= x.shape[0] else x @ x.T))
    total = term = x
    for _ in range(degree):
        term = lam / (lam + 1) * (smooth @ term - epsilon / max(norm, 1e-12) * (x @ (x.T @ term)))
        total = total + term
    return total / (lam + 1)


def refined(
    x: Tensor, graph: Graph, threshold: float, beta: float, gamma: float, learning_rate: float, seed: int
) -> tuple[Tensor, Graph]:
    """The features and the graph of UGD.

    Args:
        x: features ``[n, d]``.
        graph: the graph.
        threshold: of the edges, from the second round on.
        beta: share of the observed features in the refined ones.
        gamma: weight of the smoothness.
        learning_rate: of the autoencoder.
        seed: of the autoencoder.
    """
    coder = _Autoencoder(x.shape[1], seed).to(x)
    on_gpu = x.device.type == "cuda"
    optimizer = torch.optim.Adam(coder.parameters(), lr=learning_rate, capturable=on_gpu)
    words = _as_sparse(x)
    made, window, now, epoch = x, FIRST_WINDOW, FIRST_THRESHOLD, 0
    for rounds in range(MAX_EPOCHS):
        before = graph.num_edges
        graph = _pruned(made, graph, now)
        if (rounds >= MIN_ROUNDS and graph.num_edges == before) or epoch >= MAX_EPOCHS:
            break
        now = threshold if rounds == 0 else min(now + THRESHOLD_STEP, threshold + THRESHOLD_RISE)
        objective = _Objective(x, words, graph, beta, gamma)
        step = partial(_step, coder, optimizer, objective)
        train = recorded(step) if on_gpu else step
        losses: list[float] = []
        while epoch < MAX_EPOCHS and (len(losses) <= window or losses[-1] < np.mean(losses[-window:])):
            losses.append(float(train()))
            epoch += 1
        made = beta * x + (1 - beta) * objective.rebuilt() if losses else made
        window = WINDOW
    return made, graph


def _step(coder: _Autoencoder, optimizer: torch.optim.Optimizer, objective: _Objective) -> Tensor:
    """One epoch; the loss, and in ``objective`` the reconstruction, are those before the step."""
    optimizer.zero_grad()
    loss = objective(*coder(objective.words, objective.smooth))
    loss.backward()
    optimizer.step()
    return loss.detach()


class _Objective:
    r"""The loss of UGD without the dense reconstruction :math:`\hat X = C V` (codes ``[n, 65]``, weights ``[65, d]``).

    .. math::
        \|x_i - \hat x_i\|^2 = \|x_i\|^2 - 2\, c_i \cdot (X V^\top)_i + c_i^\top V V^\top c_i, \qquad
        \mathrm{tr}(\hat X^\top L \hat X) = \langle L C\, V V^\top, C\rangle, \quad
        \mathrm{tr}(X^\top L \hat X) = \langle L C, X V^\top\rangle,

    so that an epoch takes a product with the sparse features instead of a dozen passes over ``[n, d]`` numbers.
    """

    def __init__(self, x: Tensor, words: Sparse | Tensor, graph: Graph, beta: float, gamma: float) -> None:
        self.words, self.beta, self.gamma = words, beta, gamma
        self.smooth, self.rough = (Sparse.of(part, x, symmetric=True) for part in (self_looped(graph), graph.laplacian))
        self.squares = x.square().sum(dim=1)
        # below this a distance is rounding
        self.floor = (torch.finfo(x.dtype).eps * self.squares).clamp_min(torch.finfo(x.dtype).tiny)
        self.roughness = (x * (self.rough @ x)).sum() if beta > 0 else x.new_zeros(())
        self.codes, self.weights = x.new_zeros(x.shape[0], HIDDEN + 1), x.new_zeros(HIDDEN + 1, x.shape[1])

    def __call__(self, codes: Tensor, weights: Tensor) -> Tensor:
        self.codes.copy_(codes.detach())
        self.weights.copy_(weights.detach())
        shared, gram, flow = self.words @ weights.T, weights @ weights.T, self.rough @ codes
        squares = self.squares + ((codes @ gram - 2 * shared) * codes).sum(dim=1)
        distance = (1 - self.beta) * torch.maximum(squares, self.floor).sqrt().mean()
        own, both = (flow * (codes @ gram)).sum(), (flow * shared).sum()
        beta, rest = self.beta, 1 - self.beta
        return distance + self.gamma * (beta**2 * self.roughness + 2 * beta * rest * both + rest**2 * own)

    def rebuilt(self) -> Tensor:
        return self.codes @ self.weights


class _Autoencoder(torch.nn.Module):
    """Two graph convolutions to 64 numbers a node, two back."""

    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        draws = [torch.Generator().manual_seed(seed)]
        sizes = ((width, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, width))
        layers = [Linear(*size, draws, kind="glorot") for size in sizes]
        self.weights = torch.nn.ParameterList(layer.weight[:, 0].detach() for layer in layers)
        self.biases = torch.nn.ParameterList(torch.zeros(size[1]) for size in sizes)

    def forward(self, words: Sparse | Tensor, smooth: Sparse) -> tuple[Tensor, Tensor]:
        """Codes and weights of which the product is the reconstruction."""
        first, second, third, last = self.weights
        h = (smooth @ (words @ first) + self.biases[0]).relu()
        h = smooth @ (h @ second) + self.biases[1]
        h = (smooth @ (h @ third) + self.biases[2]).relu()
        codes = torch.cat([smooth @ h, h.new_ones(len(h), 1)], dim=1)
        return codes, torch.cat([last, self.biases[3].unsqueeze(0)])


def _as_sparse(x: Tensor) -> Sparse | Tensor:
    """The features as the quicker kind of matrix."""
    share = float((x != 0).float().mean())
    return Sparse.of(sp.csr_matrix(x.cpu().numpy()), x) if share < SPARSE_SHARE else x


def _pruned(x: Tensor, graph: Graph, threshold: float) -> Graph:
    """The graph without the edges of which one end does not fit the neighborhood of the other."""
    edges = sp.triu(graph.adjacency, k=1).tocoo()
    mean = Sparse.of(sp.diags(1 / graph.degree_weights) @ graph.adjacency, x) @ x
    u, v = (torch.as_tensor(ends.astype(np.int64), device=x.device) for ends in (edges.row, edges.col))
    fits = []
    for some_u, some_v in zip(*(ends.split(max(1, CELLS_AT_ONCE // x.shape[1])) for ends in (u, v)), strict=True):
        pairs = ((some_u, some_v), (some_v, some_u))
        cosine = [torch.cosine_similarity(mean[a], x[b], dim=1) for a, b in pairs]
        fits.append(torch.sigmoid(torch.minimum(*cosine)) >= threshold)
    keep = torch.cat(fits).cpu().numpy() if fits else np.zeros(0, dtype=bool)
    return Graph.from_edges(np.stack([edges.row[keep], edges.col[keep]]), graph.num_nodes, edges.data[keep])


def _gadc(repetition: Repetition, config: Config) -> RepairCandidates:
    amounts = config["lam"], config["epsilon"], config["degree"]
    return RepairCandidates([Candidate("diffused", lambda: diffused(repetition.x, repetition.graph, *amounts))])


def _ugd(repetition: Repetition, config: Config) -> RepairCandidates:
    threshold, beta, gamma, rate = (config[name] for name in _REFINED)
    x, graph = refined(repetition.x, repetition.graph, threshold, beta, gamma, rate, repetition.seed)
    return RepairCandidates([Candidate("refined", lambda: x)], graph=graph)


_DIFFUSED: dict[str, Any] = {"lam": 64.0, "epsilon": 1e-5, "degree": 32}
_REFINED: dict[str, Any] = {"threshold": 0.7, "beta": 0.0, "gamma": 1e-3, "refining_rate": 1e-3}

GADC = Method(
    name="gadc",
    title="GADC",
    defaults={**PAPER_TRAINING, **NETWORK, "learning_rate": 0.02, "weight_decay": 1e-5, **_DIFFUSED},
    space={
        **PAPER_SPACE,
        **{"learning_rate": [1e-3, 5e-3, 1e-4, 0.02, 0.2], "weight_decay": [1e-3, 5e-3, 1e-4, 1e-5]},
        **{"layers": [1, 2], "hidden": [32, 64, 128], "scaling": ["none", "rows"]},
        **{"lam": [1.0, 16.0, 64.0], "epsilon": [1e-5, 1e-3, 1e-1], "degree": [6, 16, 32]},
    },
    model=MLP,
    repair=_gadc,
    repairs=tuple(_DIFFUSED),
    source="the paper's Table 3 and the settings of Liu et al. 2024 (one linear layer with learning rate 0.2, or 32 "
    "hidden units with 0.02, weight decay 1e-5; lambda 1 to 64, epsilon 1e-5 or 0.1, 6 to 32 steps)",
)
UGD = Method(
    name="ugd",
    title="UGD",
    defaults={**PAPER_GCN, "learning_rate": 0.01, "weight_decay": 1e-3, "hidden": 256, **_REFINED},
    space={
        **PAPER_SPACE,
        **{"learning_rate": [1e-3, 5e-3, 1e-4, 1e-2], "hidden": [64, 128, 256]},
        **{"threshold": [0.5, 0.6, 0.65, 0.7], "beta": [0.0, 0.5], "gamma": [1e-4, 1e-3, 1e-2]},
    },
    repair=_ugd,
    repairs=tuple(_REFINED),
    source="the paper's Table 3 and the settings of Yang et al. 2024 (256 hidden units, learning rate 0.01, weight "
    "decay 1e-3; threshold 0.7, gamma 1e-3, beta 0)",
)
