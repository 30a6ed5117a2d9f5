"""``gae``: the paper's graph autoencoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import GCNConv

from magnet.detection.base import Detector
from magnet.detection.progress import track
from magnet.detection.view import View
from magnet.graph import csr_tensor

# From this many nodes on the paper trains ten times as long.
LARGE = 10_000


@dataclass(kw_only=True, eq=False, repr=False)
class GAE(Detector):
    r"""Two graph convolutions in, two out; what is not reconstructed is suspicious (Zhou et al., WWW 2023).

    .. math::
        \min_\theta \frac1n \sum_i \|X_i - X'_i\|_{1 \text{ or } 2}, \qquad \text{score} = |X - X'|, \qquad
        \text{trust} = [\text{score} \le \tau].

    Kept for comparison. It sees each node itself, so it learns to repeat the error. Its probability is
    :math:`s / (s + \tau)`, which is 1/2 at the threshold; it is not calibrated.

    Args:
        loss: ``"mse"`` (the 2-norm of each row) or ``"mae"`` (the 1-norm). (default: ``"mse"``)
        tau: threshold of the score. (default: ``0.1``)
        epochs: (default: ``1000``, and 10 000 from 10 000 nodes on, as in the paper)
        hidden, dropout, lr, weight_decay: of the network and of Adam. (default: ``64``, ``0.3``, ``1e-3``, ``0``)

    ``reconstruction_`` ``[n, d]`` is :math:`X'`.
    """

    loss: Literal["mse", "mae"] = "mse"
    tau: float = 0.1
    epochs: int | None = None
    hidden: int = 64
    dropout: float = 0.3
    lr: float = 1e-3
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss not in ("mse", "mae"):
            raise ValueError(f"loss is {self.loss!r}; it must be 'mse' or 'mae'")
        if not self.tau > 0:
            raise ValueError(f"tau is {self.tau}; it must be positive")

    def _detect(self, view: View) -> None:
        a = view.graph.adjacency.tocoo()
        edge_index = torch.stack([torch.from_numpy(v.astype("int64")) for v in (a.row, a.col)]).to(view.device)
        weight = torch.from_numpy(a.data).float().to(view.device)
        x: Any = csr_tensor(view.matrix, torch.float32, view.device) if view.matrix is not None else None
        if view.x is not None:
            x = view.x if view.missing is None else view.x.where(~view.missing, view.x.nanmean(dim=0).nan_to_num())
        with torch.random.fork_rng(devices=[view.device] if view.device.type == "cuda" else []):
            torch.manual_seed(self.seed)
            network = Autoencoder(view.features, self.hidden, self.dropout).to(view.device)
            optimiser = torch.optim.Adam(network.parameters(), lr=self.lr, weight_decay=self.weight_decay)
            epochs = self.epochs or (1000 if view.nodes < LARGE else 10_000)
            for _ in track(range(epochs), "training the autoencoder", self.progress):
                network.train()
                optimiser.zero_grad()
                code = network.code(x, edge_index, weight)
                loss = self._loss(view, network, code)
                loss.backward()
                optimiser.step()
            network.eval()
            with torch.no_grad():
                self._network, self._code = network, network.code(x, edge_index, weight)
        self.loss_ = float(loss.detach())
        total, near = torch.zeros(view.nodes, device=view.device), torch.zeros(view.nodes, device=view.device)
        for first, last in view.ranges():
            score, probability = self._cells(first, last)
            total += score.square().sum(dim=1) if self.loss == "mse" else score.sum(dim=1)
            near = torch.maximum(near, probability.max(dim=1).values)
        self.node_scores_ = total.sqrt() if self.loss == "mse" else total
        self.node_probability_ = near
        self.share_ = float((near > 0.5).float().mean())

    def _loss(self, view: View, network: Autoencoder, code: Tensor) -> Tensor:
        """Mean over the rows of the norm of the residual, a range of columns at a time."""
        ranges = list(view.ranges())
        parts = []
        for first, last in ranges:
            if len(ranges) == 1:
                parts.append(self._row_loss(network, code, view.block(first, last), first, last))
            else:
                arguments = (network, code, view.block(first, last), first, last)
                parts.append(checkpoint(self._row_loss, *arguments, use_reentrant=False))
        total = torch.stack(parts).sum(dim=0)
        return (total.clamp_min(1e-12).sqrt() if self.loss == "mse" else total).mean()

    def _row_loss(self, network: Autoencoder, code: Tensor, block: Tensor, first: int, last: int) -> Tensor:
        residual = (network.reconstruct(code, first, last) - block).nan_to_num()
        return (residual.square() if self.loss == "mse" else residual.abs()).sum(dim=1)

    def _cells(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        with torch.no_grad():
            rebuilt = self._network.reconstruct(self._code, first, last)
        score = (self._view.block(first, last) - rebuilt).abs().nan_to_num()
        probability = score / (score + self.tau)
        known = self._known(first, last)
        return score, probability if known is None else probability.masked_fill(known, 0.0)

    @property
    def reconstruction_(self) -> Tensor:
        with torch.no_grad():
            return self._network.reconstruct(self._code, 0, self._view.features).to(self._home)


class Autoencoder(nn.Module):
    """GCN - GCN - GCN - GCN with batch norm, ReLU and dropout between; the last product with the weights can be had
    for a range of columns."""

    def __init__(self, features: int, hidden: int, rate: float) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([GCNConv(features, hidden), GCNConv(hidden, hidden), GCNConv(hidden, hidden)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(hidden) for _ in range(3)])
        self.last = GCNConv(hidden, hidden, bias=False)
        self.last.lin = nn.Identity()
        self.weight = nn.Parameter(torch.empty(hidden, features))
        self.bias = nn.Parameter(torch.zeros(features))
        nn.init.xavier_uniform_(self.weight)
        self.rate = rate

    def code(self, x: Any, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        """The propagated input of the last layer's weights."""
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = convolution(x, edge_index, edge_weight)
            x = (norm(x) if x.shape[0] > 1 else x).relu()  # one row has no variance to divide by
            x = dropout(x, self.rate, self.training)
        return self.last(x, edge_index, edge_weight)

    def reconstruct(self, code: Tensor, first: int, last: int) -> Tensor:
        return code @ self.weight[:, first:last] + self.bias[first:last]
