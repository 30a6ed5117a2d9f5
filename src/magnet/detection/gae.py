"""``gae``: the paper's graph autoencoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import GCNConv

from magnet.arrays import csr_tensor
from magnet.detection.base import Detector
from magnet.detection.progress import track
from magnet.detection.view import View

# From this many nodes on the paper trains ten times as long.
LARGE = 10_000
# A step over all columns at once holds about this many copies of the features.
WORKING_COPIES = 12
# A range of columns, and their observed values where they are kept.
Block = tuple[int, int, Tensor | None]


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
        x, blocks = self._data(view)
        on_gpu = view.device.type == "cuda"
        with torch.random.fork_rng(devices=[view.device] if on_gpu else []):
            torch.manual_seed(self.seed)
            network = Autoencoder(view.features, self.hidden, self.dropout).to(view.device)
            optimiser = torch.optim.Adam(
                network.parameters(), lr=self.lr, weight_decay=self.weight_decay, capturable=on_gpu
            )

            def step() -> Tensor:
                optimiser.zero_grad()
                loss = self._loss(network, network.code(x, edge_index, weight), blocks)
                loss.backward()
                optimiser.step()
                return loss.detach()

            network.train()
            train = recorded(step) if on_gpu and len(blocks) == 1 else step
            epochs = self.epochs or (1000 if view.nodes < LARGE else 10_000)
            for _ in track(range(epochs), "training the autoencoder", self.progress):
                loss = train()
            network.eval()
            with torch.no_grad():
                self._network, self._code = network, network.code(x, edge_index, weight)
        self.loss_ = float(loss)
        total, near = torch.zeros(view.nodes, device=view.device), torch.zeros(view.nodes, device=view.device)
        for first, last in view.ranges():
            score, probability = self._cells(first, last)
            total += score.square().sum(dim=1) if self.loss == "mse" else score.sum(dim=1)
            near = torch.maximum(near, probability.max(dim=1).values)
        self.node_scores_ = total.sqrt() if self.loss == "mse" else total
        self.node_probability_ = near
        self.share_ = float((near > 0.5).float().mean())

    def _data(self, view: View) -> tuple[Any, list[Block]]:
        """The input of the network, and what it has to reconstruct: in one block where memory allows it."""
        on_gpu = view.device.type == "cuda"
        whole = on_gpu and WORKING_COPIES * 4 * view.nodes * view.features < torch.cuda.mem_get_info(view.device)[0]
        ranges = [(0, view.features)] if whole else list(view.ranges())
        if view.x is None and not whole:
            return csr_tensor(view.matrix, torch.float32, view.device), [(*each, None) for each in ranges]
        x = view.block(0, view.features)
        blocks: list[Block] = [(first, last, x[:, first:last]) for first, last in ranges]
        return x if view.missing is None else x.where(~view.missing, x.nanmean(dim=0).nan_to_num()), blocks

    def _loss(self, network: Autoencoder, code: Tensor, blocks: Sequence[Block]) -> Tensor:
        """Mean over the rows of the norm of the residual, a range of columns at a time."""
        parts = []
        for first, last, block in blocks:
            if len(blocks) == 1:
                parts.append(self._row_loss(network, code, first, last, block))
            else:
                arguments = (network, code, first, last, block)
                parts.append(checkpoint(self._row_loss, *arguments, use_reentrant=False))
        total = torch.stack(parts).sum(dim=0)
        return (total.clamp_min(1e-12).sqrt() if self.loss == "mse" else total).mean()

    def _row_loss(self, network: Autoencoder, code: Tensor, first: int, last: int, block: Tensor | None) -> Tensor:
        observed = self._view.block(first, last) if block is None else block
        residual = (network.reconstruct(code, first, last) - observed).nan_to_num()
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
        conv = partial(GCNConv, cached=True)  # the graph is always the same
        self.convolutions = nn.ModuleList([conv(features, hidden), conv(hidden, hidden), conv(hidden, hidden)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(hidden) for _ in range(3)])
        self.last = conv(hidden, hidden, bias=False)
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


def recorded(step: Callable[[], Tensor], warm_up: int = 3) -> Callable[[], Tensor]:
    """A training step on a GPU that is recorded once and then replayed: launching its kernels one by one takes ten
    times as long as running them. The first ``warm_up`` calls are ordinary ones."""
    graph, calls = torch.cuda.CUDAGraph(), 0
    stream = torch.cuda.Stream()
    result: Tensor

    def run() -> Tensor:
        nonlocal calls, result
        calls += 1
        if calls <= warm_up:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                result = step()
            torch.cuda.current_stream().wait_stream(stream)
            return result
        if calls == warm_up + 1:
            with torch.cuda.graph(graph):
                result = step()
        graph.replay()
        return result

    return run
