r"""UGD ("You Can't Ignore Either: Unifying Structure and Feature Denoising for Robust Graph Learning", Yang et al.,
CIKM 2024) alternates two steps. It removes an edge if the row at one end does not fit the neighborhood of the other
end,

.. math:: \min\{\sigma(\cos(p_u, x_v)), \sigma(\cos(p_v, x_u))\} < \theta, \qquad p_u = \mathrm{mean}_{v \sim u}\, x_v,

and on the edges that are left a graph autoencoder :math:`\hat X` (two layers each way) with

.. math:: \tilde X = \beta X + (1 - \beta) \hat X, \qquad
    \min\ \tfrac1n \sum_i \|x_i - \tilde x_i\| + \gamma\, \mathrm{tr}(\tilde X^\top L \tilde X)

refines the features, until no more edges are removed. A GCN is trained on the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from magnet.detection.gae import recorded
from magnet.experiments.methods.base import PAPER_GCN, PAPER_SPACE, Config, Method, RepairCandidates
from magnet.experiments.protocol.data import Repetition
from magnet.graph import Graph
from magnet.nn.layers import Linear
from magnet.nn.sparse import Sparse
from magnet.recovery.candidates import Candidate

#: The published schedule of UGD. A round ends when the loss is no longer below its mean over the last FIRST_WINDOW
#: (first round) or WINDOW epochs; there are at least MIN_ROUNDS rounds. The threshold is FIRST_THRESHOLD in the first
#: round, then rises by THRESHOLD_STEP per round, by at most THRESHOLD_RISE.
FIRST_WINDOW, WINDOW, MIN_ROUNDS, MAX_EPOCHS = 60, 20, 4, 5000
FIRST_THRESHOLD, THRESHOLD_STEP, THRESHOLD_RISE = 0.5, 0.005, 0.02
#: Width of the code of the autoencoder, as published.
HIDDEN = 64
#: Features with fewer nonzero cells than this are multiplied as a sparse matrix.
SPARSE_SHARE = 0.1
#: Cells that are compared at once when edges are judged (1 GiB).
CELLS_AT_ONCE = 1 << 28
#: Rows of one product. The gradient of its weights, a small matrix that is a sum over all rows, would be computed by a
#: single processor of a GPU: on WordNet (117 659 rows) an epoch took 12 ms for each setting.
ROWS_AT_ONCE = 4096


@dataclass
class Refinement:
    """The state of UGD on one graph; the graphs of a batch have equal numbers of nodes and columns, and one learning
    rate.

    Args:
        x: features ``[n, d]``; at the end, the refined ones.
        graph: the graph; at the end, without the removed edges.
        threshold: of the edges, from the second round on.
        beta: share of the observed features in the refined ones.
        gamma: weight of the smoothness.
        seed: of the autoencoder.
    """

    x: Tensor
    graph: Graph
    threshold: float
    beta: float
    gamma: float
    seed: int
    rounds: int = 0
    done: bool = False
    losses: list[float] = field(default_factory=list)

    def prune(self, x: Tensor) -> bool:
        """Start a round with the features of the previous one; returns whether edges were removed."""
        rising = self.threshold + THRESHOLD_STEP * max(0, self.rounds - 1)
        now = min(rising, self.threshold + THRESHOLD_RISE) if self.rounds else FIRST_THRESHOLD
        before, self.graph = self.graph.num_edges, _pruned(x, self.graph, now)
        went = self.graph.num_edges < before
        self.done = self.rounds >= MIN_ROUNDS and not went
        self.rounds, self.losses = self.rounds + 1, []
        return went

    @property
    def settled(self) -> bool:
        """Whether the loss has stopped falling in this round."""
        window = FIRST_WINDOW if self.rounds == 1 else WINDOW
        return len(self.losses) > window and self.losses[-1] >= float(np.mean(self.losses[-window:]))


def refine(batch: Sequence[Refinement], learning_rate: float) -> None:
    """Train the autoencoders of several graphs together, each until no more of its edges are removed; on a GPU this
    takes about as long as one of them."""
    x = batch[0].x
    on_gpu = x.device.type == "cuda"
    coders = _Autoencoders(x.shape[1], [run.seed for run in batch]).to(x)
    optimizer = torch.optim.Adam(coders.parameters(), lr=learning_rate, capturable=on_gpu)
    objective = _Objective(batch)

    def step() -> Tensor:
        optimizer.zero_grad()
        losses = objective(*coders(objective))
        losses.sum().backward()
        optimizer.step()
        return losses.detach()

    refined = [run.x for run in batch]
    changed = [run.prune(run.x) for run in batch]
    train = step
    for epoch in range(MAX_EPOCHS):
        if epoch == 0 or any(changed):
            objective.rewire([run.graph for run in batch])
            train = recorded(step) if on_gpu else step
        changed = []
        for number, loss in enumerate(train().tolist()):
            run = batch[number]
            run.losses.append(loss)
            if not run.done and (run.settled or epoch == MAX_EPOCHS - 1):
                refined[number] = run.beta * run.x + (1 - run.beta) * objective.rebuilt(number)
                changed.append(run.prune(refined[number]))
        if all(run.done for run in batch):
            break
    for run, features in zip(batch, refined, strict=True):
        run.x = features


class _Objective:
    r"""The losses of UGD without dense reconstructions :math:`\hat X = C V` (codes ``[n, 65]``, weights ``[65, d]``).

    .. math::
        \|x_i - \hat x_i\|^2 = \|x_i\|^2 - 2\, c_i \cdot (X V^\top)_i + c_i^\top V V^\top c_i, \qquad
        \mathrm{tr}(\hat X^\top L \hat X) = \langle L C\, V V^\top, C\rangle, \quad
        \mathrm{tr}(X^\top L \hat X) = \langle L C, X V^\top\rangle,

    so that an epoch takes a product with the sparse features instead of a dozen passes over ``[n, d]`` numbers.
    """

    def __init__(self, batch: Sequence[Refinement]) -> None:
        self.x = [each.x for each in batch]
        x = self.x[0]
        self.beta, self.gamma = (x.new_tensor([getattr(each, name) for each in batch]) for name in ("beta", "gamma"))
        sparse = float((x != 0).float().mean()) < SPARSE_SHARE
        self.features = (
            _blocks([sp.csr_matrix(each.cpu().numpy()) for each in self.x], x) if sparse else torch.stack(self.x)
        )
        self.squares = torch.stack([each.square().sum(dim=1) for each in self.x])
        # below this a distance is rounding
        self.floor = (torch.finfo(x.dtype).eps * self.squares).clamp_min(torch.finfo(x.dtype).tiny)
        self.wired: list[tuple[Graph, sp.csr_matrix, Tensor]] = []
        self.codes = x.new_zeros(len(batch), x.shape[0], HIDDEN + 1)
        self.weights = x.new_zeros(len(batch), HIDDEN + 1, x.shape[1])

    def rewire(self, graphs: Sequence[Graph]) -> None:
        """Use other graphs; the operators of unchanged graphs are reused."""
        wired = []
        for number, graph in enumerate(graphs):
            same = bool(self.wired) and self.wired[number][0] is graph
            wired.append(self.wired[number] if same else (graph, graph.self_looped, self._roughness(number, graph)))
        self.wired = wired
        self.smooth = _blocks([smooth for _, smooth, _ in wired], self.x[0], symmetric=True)
        self.rough = _blocks([graph.laplacian for graph in graphs], self.x[0], symmetric=True)
        self.roughness = torch.stack([roughness for _, _, roughness in wired])

    def _roughness(self, number: int, graph: Graph) -> Tensor:
        """:math:`\\mathrm{tr}(X^\\top L X)`, where it is needed."""
        x = self.x[number]
        if self.beta[number] == 0:
            return x.new_zeros(())
        return (x * (Sparse.of(graph.laplacian, x, symmetric=True) @ x)).sum()

    def times_features(self, weights: Tensor) -> Tensor:
        """The features times ``[S, d, k]``."""
        if isinstance(self.features, Tensor):
            return _product(self.features, weights)
        return (self.features @ weights.flatten(0, 1)).view(len(weights), -1, weights.shape[2])

    def smoothed(self, h: Tensor) -> Tensor:
        return (self.smooth @ h.flatten(0, 1)).view_as(h)

    def __call__(self, codes: Tensor, weights: Tensor) -> Tensor:
        self.codes.copy_(codes.detach())
        self.weights.copy_(weights.detach())
        shared, gram = self.times_features(weights.mT), weights @ weights.mT
        flow, through = (self.rough @ codes.flatten(0, 1)).view_as(codes), _product(codes, gram)
        squares = self.squares + ((through - 2 * shared) * codes).sum(dim=2)
        distance = torch.maximum(squares, self.floor).sqrt().mean(dim=1)
        own, both = (flow * through).sum(dim=(1, 2)), (flow * shared).sum(dim=(1, 2))
        beta, rest = self.beta, 1 - self.beta
        return rest * distance + self.gamma * (beta**2 * self.roughness + 2 * beta * rest * both + rest**2 * own)

    def rebuilt(self, number: int) -> Tensor:
        return self.codes[number] @ self.weights[number]


class _Autoencoders(torch.nn.Module):
    """S autoencoders: two graph convolutions to a code of 64 numbers per node, two back."""

    def __init__(self, width: int, seeds: Sequence[int]) -> None:
        super().__init__()
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        sizes = ((width, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, width))
        layers = [Linear(*size, draws, kind="glorot") for size in sizes]
        self.weights = torch.nn.ParameterList(layer.weight.detach().transpose(0, 1).contiguous() for layer in layers)
        self.biases = torch.nn.ParameterList(torch.zeros(len(seeds), 1, size[1]) for size in sizes)

    def forward(self, objective: _Objective) -> tuple[Tensor, Tensor]:
        """Codes and weights; their products are the reconstructions."""
        first, second, third, last = self.weights
        h = (objective.smoothed(objective.times_features(first)) + self.biases[0]).relu()
        h = objective.smoothed(_product(h, second)) + self.biases[1]
        h = (objective.smoothed(_product(h, third)) + self.biases[2]).relu()
        codes = torch.cat([objective.smoothed(h), h.new_ones(*h.shape[:2], 1)], dim=2)
        return codes, torch.cat([last, self.biases[3]], dim=1)


def _product(h: Tensor, weights: Tensor) -> Tensor:
    """``[S, n, d]`` times ``[S, d, k]``, in ranges of rows."""
    models, nodes, width = h.shape
    ranges = -(-nodes // ROWS_AT_ONCE)
    padded = torch.nn.functional.pad(h, (0, 0, 0, -nodes % ranges)).view(models, ranges, -1, width)
    return (padded @ weights.unsqueeze(1).expand(-1, ranges, -1, -1)).flatten(1, 2)[:, :nodes]


def _blocks(parts: Sequence[sp.csr_matrix], like: Tensor, symmetric: bool = False) -> Sparse:
    return Sparse.of(sp.block_diag(parts, format="csr"), like, symmetric)


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
    if keep.all():
        return graph
    return Graph.from_edges(np.stack([edges.row[keep], edges.col[keep]]), graph.num_nodes, edges.data[keep])


def _ugd(runs: Sequence[tuple[Repetition, Config]]) -> list[RepairCandidates]:
    batches: dict[float, list[Refinement]] = {}
    refinements = []
    for repetition, config in runs:
        amounts = config["threshold"], config["beta"], config["gamma"]
        refinements.append(Refinement(repetition.x, repetition.graph, *amounts, repetition.seed))
        batches.setdefault(config["refining_rate"], []).append(refinements[-1])
    for rate, batch in batches.items():
        refine(batch, rate)
    return [
        RepairCandidates([Candidate("refined", partial(getattr, refinement, "x"))], graph=refinement.graph)
        for refinement in refinements
    ]


UGD = Method(
    name="ugd",
    title="UGD",
    settings={**PAPER_GCN, "learning_rate": 0.01, "weight_decay": 1e-3, "hidden": 256},
    repair_settings={"threshold": 0.7, "beta": 0.0, "gamma": 1e-3, "refining_rate": 1e-3},  # as published
    space={
        **PAPER_SPACE,
        **{"learning_rate": [1e-3, 5e-3, 1e-4, 1e-2], "hidden": [64, 128, 256]},
        **{"threshold": [0.5, 0.6, 0.65, 0.7], "beta": [0.0, 0.5], "gamma": [1e-5, 1e-4, 1e-3, 1e-2]},
    },
    repair=lambda repetition, config: _ugd([(repetition, config)])[0],
    repair_all=_ugd,
    source="the paper's Table 3 and the settings of Yang et al. 2024 (256 hidden units, learning rate 0.01, weight "
    "decay 1e-3; threshold 0.7, gamma 1e-3, beta 0; the smoothness is a sum over nodes, so that large graphs need a "
    "smaller gamma)",
)
